"""Several ranks as an engine: each has some of the rows, and all of them get every tree.

A rank's *own* draws are those of its own rows. A subtree is *shipped* when the records of its draws are sent to one rank, its
*owner*, which grows it to its end.
"""
