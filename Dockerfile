# Punto's server in two stages: the first builds an environment, the second has nothing but Python and that.

FROM python:3.13.7-slim AS build
WORKDIR /src
RUN python -m venv /opt/punto
COPY constraints.txt ./
RUN /opt/punto/bin/pip install --no-cache-dir --constraint constraints.txt setuptools
COPY pyproject.toml README.md LICENSE ./
COPY client_sdk client_sdk
COPY server server
RUN /opt/punto/bin/pip install --no-cache-dir --constraint constraints.txt --no-build-isolation '.[server]'

FROM python:3.13.7-slim
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin punto \
    && install -d -o punto -g punto -m 0700 /data
COPY --from=build /opt/punto /opt/punto
ENV PATH=/opt/punto/bin:$PATH PYTHONUNBUFFERED=1
USER punto
VOLUME /data
EXPOSE 8765
STOPSIGNAL SIGTERM
ENTRYPOINT ["punto-server"]
# Open play is all there is yet: whoever reaches the port is a guest with play money.
CMD ["serve", "--listen", "0.0.0.0:8765", "--store", "embedded", "--data", "/data", "--open"]
