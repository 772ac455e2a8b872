"""What the user's data are: checks, columns, features, rows of several ranks."""
