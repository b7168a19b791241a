"""What all pages share: shell, navigation, frame, view, links, theme."""
