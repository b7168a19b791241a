"""The frame, the widgets and the words of the dashboard; besides pages/, the only room with Streamlit."""
