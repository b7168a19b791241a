"""Experiment trackers: imports the runs of MLflow and Weights & Biases, and writes results back to MLflow."""

from recdash.trackers.exporting import Exported, ExportedRun, export_mlflow
from recdash.trackers.importing import Imported, ImportedRun, import_mlflow, import_wandb

__all__ = [
    "Exported", "ExportedRun", "Imported", "ImportedRun", "export_mlflow", "import_mlflow", "import_wandb",
]  # fmt: skip
