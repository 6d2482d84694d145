"""A task of an array of confined jobs: counts the pictures, and puts that out with its index."""
import json
import os

with open(os.path.join(os.environ["SLUICE_DATA"], "mammo", "pictures.json"), encoding="utf-8") as f:
    pictures = len(json.load(f))
with open(os.path.join(os.environ["SLUICE_OUTPUT"], "task.json"), "w", encoding="utf-8") as f:
    json.dump({"task": int(os.environ["SLUICE_ARRAY_TASK_ID"]), "pictures": pictures}, f)
