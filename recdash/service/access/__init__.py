"""Who may see what: share links, saved views, the audit log."""
