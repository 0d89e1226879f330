# Punto's server in two stages: the first builds an environment, the second has nothing but Python and that.

FROM python:3.13.7-slim AS build
WORKDIR /src
RUN python -m venv /opt/punto
COPY constraints.txt ./
RUN /opt/punto/bin/pip install --no-cache-dir --constraint constraints.txt setuptools
COPY pyproject.toml README.md LICENSE ./
COPY client_sdk client_sdk
COPY server server
RUN /opt/punto/bin/pip install --no-cache-dir --constraint constraints.txt --no-build-isolation '.[server]' \
    && /opt/punto/bin/pip uninstall --yes setuptools pip

FROM python:3.13.7-slim
# The image brings pip; a server that installs nothing is better off without.
RUN python -m pip uninstall --yes pip \
    && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin punto \
    && install -d -o punto -g punto -m 0700 /data
COPY --from=build /opt/punto /opt/punto
ENV PATH=/opt/punto/bin:$PATH PYTHONUNBUFFERED=1
USER 10001
VOLUME /data
EXPOSE 8765 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=6 CMD ["python", "-c", \
    "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9464/healthz', timeout=2)"]
ENTRYPOINT ["punto-server"]
# Without another command: open play, a store of its own in /data; whoever reaches the port is a guest with play money.
CMD ["serve", "--listen", "0.0.0.0:8765", "--admin", "127.0.0.1:9464", "--store", "embedded", "--data", "/data", "--open"]
