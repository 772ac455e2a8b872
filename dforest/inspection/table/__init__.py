"""`check_table`: what is wrong with a table, or looks wrong, before a model is fitted to it."""
