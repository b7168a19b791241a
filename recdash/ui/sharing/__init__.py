"""What Share holds: links, saved views, a frame for a wiki."""
