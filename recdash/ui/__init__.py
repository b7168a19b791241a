"""The dashboard: its frame, widgets and pages. Only this package and pages/ import Streamlit."""
