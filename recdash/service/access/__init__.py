"""What others may see: share links, saved views, and the audit log."""
