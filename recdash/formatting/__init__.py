"""How anything is written: numbers, words, HTML, spreadsheets, and characters that may do harm."""
