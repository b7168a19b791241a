"""Alembic migrations. They are history: never edited once released, and they import nothing of ours."""
