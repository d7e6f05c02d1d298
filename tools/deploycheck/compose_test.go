package deploycheck

import (
	"path/filepath"
	"testing"
)

var docs = filepath.Join(root, "docs")

func TestCompose(t *testing.T) {
	t.Parallel()
	fine(t, checkCompose(t.Context(), deploy, docs))
}

func TestComposeMistakes(t *testing.T) {
	t.Parallel()
	for _, m := range []mistake{
		{"compose.yaml", "    command: [migrate, up]", "    comand: [migrate, up]", "services.migrate.comand"},
		{"compose.yaml", "    redis: {condition", "    rediss: {condition", `depends on undefined service "rediss"`},
		{"compose.yaml", "    <<: *petstore\n", "    <<: *petstor\n", "petstor"},
		{"compose.yaml", "tls:/etc/petstore/tls:ro", "tsl:/etc/petstore/tls:ro", `undefined volume tsl`},
		{"compose.yaml", "    networks: [inside, outside]", "    networks: [inside, outsid]",
			`undefined network outsid`},
		{"compose.yaml", "mem_limit: 256m", "mem_limit: 256x", "invalid suffix"},
		{"compose.yaml", "    healthcheck: {test: [CMD, redis-cli, ping], interval: 2s, timeout: 3s, retries: 10}\n",
			"", "service redis has no health check"},
		{"compose.yaml", "  petstore1: {condition: service_healthy}", "  petstore1: {condition: service_started}",
			"does not wait until petstore1"},
		{"compose.yaml", "PETSTORE_TRUSTED_PROXIES", "PETSTORE_TRUSTED_PROXYS", "sets PETSTORE_TRUSTED_PROXYS"},
		{"compose.yaml", "target: petstorectl", "target: petstorectrl", `target "petstorectrl"`},
		{"compose.yaml", "  read_only: true\n", "", "may do more than it needs"},
		{"compose.yaml", "redis:7.4-bookworm", "redis:latest", "want a version"},
		{"compose.yaml", "127.0.0.1:3000:3000", "3000:3000", "publishes port 3000"},
		{"compose.yaml", "./proxy/nginx.conf:", "./proxy/nginx.cnf:", "mounts what does not exist"},
		{"compose.yaml", "./grafana:/dashboards:ro", "./grafana:/dashboards", "may write to"},
		{"compose.yaml", "POSTGRES_PASSWORD_FILE: /secrets/password", "POSTGRES_PASSWORD: hunter2",
			"has a secret in POSTGRES_PASSWORD"},
		{"compose.yaml", "redis://redis:6379/0", "redis://:hunter2@redis:6379/0", "has a secret in PETSTORE_REDIS_URL"},
		{"compose.yaml", "    tmpfs: [/data]\n    restart: unless-stopped", "    tmpfs: [/data]",
			"service redis is not restarted"},
	} {
		expect(t, checkCompose(t.Context(), plant(t, m), docs), m.want)
	}
}
