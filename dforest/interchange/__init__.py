"""Models of other formats: dforest's files, and conversion to and from other libraries."""
