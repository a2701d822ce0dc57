"""The tasks of the desktop: which application, which files, what to do, what counts as done."""

from clew.environments.desktop.tasks.reading import tasks, tasks_of
from clew.environments.desktop.tasks.task import Desk, Task

__all__ = ["Desk", "Task", "tasks", "tasks_of"]
