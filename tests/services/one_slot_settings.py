"""The product's settings with a worker that does one chunk of work at a time."""

from charmem_site.settings import *

WORKER_THREADS = 3  # two of them are never used for jobs
