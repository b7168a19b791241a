"""The frame, the widgets and the words of the dashboard: the only room besides pages/ that knows Streamlit."""
