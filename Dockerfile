FROM python:3.13-slim

# app.py says why there is one arena; three threads of Streamlit start before it is loaded.
ENV MALLOC_ARENA_MAX=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    RECDASH_ARTIFACTS=/data/artifacts \
    RECDASH_AUTH=key \
    RECDASH_DATABASE_URL=sqlite:////data/recdash.db

# The dashboard runs as this user, who owns nothing but the data.
RUN useradd --create-home --uid 10001 recdash \
    && install --directory --owner=recdash --group=recdash /data

WORKDIR /app
COPY requirements.txt ./
RUN pip install --no-cache-dir --requirement requirements.txt
COPY LICENSE README.md app.py pyproject.toml ./
COPY .streamlit/config.toml .streamlit/config.toml
COPY pages pages
COPY recdash recdash
RUN pip install --no-cache-dir --no-deps .

# Each upload is read in a process of its own, of up to RECDASH_MAX_READ_MEMORY_BYTES (4 GiB): with
# `docker run --memory` set it to what is left beside the server. docs/deployment.md, Memory, has figures.
USER 10001
VOLUME /data
EXPOSE 8501

HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]

# Inside the container every address listens, so nobody comes in without the key that is printed at the start.
# Which address is reachable from outside is for `docker run --publish` to say.
CMD ["python", "-m", "streamlit", "run", "app.py", "--server.address=0.0.0.0", "--server.port=8501"]
