"""What shows fitted forests: trees as text and pictures, reports, displays."""
