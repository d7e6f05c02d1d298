package deploycheck

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// installations are values that operators may choose.
var installations = map[string]string{
	"default": ``,
	"one server": `{replicas: 1, redis: {secretName: ""}, podDisruptionBudget: {enabled: false}, networkPolicy: ` +
		`{enabled: false}, migrate: {enabled: false}}`,
	"external secrets": `
database: {secretName: vault-db, key: DATABASE_URL}
redis: {secretName: vault-redis, key: REDIS_URL}
migrate: {secretName: vault-owner, key: OWNER_URL, envFrom: [{secretRef: {name: vault-migrate}}]}
otlp: {headers: {secretName: vault-otlp, key: api-key}}
webhooks: {secretName: vault-webhooks, key: SECRETS_KEY}
mail: {secretName: vault-mail, key: SMTP_URL, from: Animal Store <notices@example.com>}
secretsVersion: "2"
extraEnv: [{name: PGPASSWORD, valueFrom: {secretKeyRef: {name: vault-password, key: password}}}, {name: TZ, value: UTC}]
envFrom: [{secretRef: {name: vault-env, optional: true}}, {prefix: OTEL_, configMapRef: {name: otel}}]
`,
	"private CA": `
database: {ca: {secretName: database-ca}}
migrate:
  extraVolumes: [{name: client, secret: {secretName: owner-client, defaultMode: 0440}}]
  extraVolumeMounts: [{name: client, mountPath: /etc/petstore/client, readOnly: true}]
  extraEnv: [{name: PGSSLCERT, value: /etc/petstore/client/tls.crt}, {name: PGSSLKEY, value: /etc/petstore/client/tls.key}]
extraVolumes: [{name: bundle, configMap: {name: trust-bundle}}]
extraVolumeMounts: [{name: bundle, mountPath: /etc/petstore/bundle, readOnly: true}]
env: {OTEL_EXPORTER_OTLP_CERTIFICATE: /etc/petstore/bundle/ca.crt}
`,
	"redis": `{redis: {ca: {secretName: redis-ca, key: redis.pem}}, env: {PETSTORE_REDIS_TIMEOUT: 200ms}, ` +
		`autoscaling: {enabled: true}}`,
	"ingress": `{ingress: {enabled: true, className: nginx, hosts: [api.example.com, "*.example.org"], tls: ` +
		`[{secretName: api-tls, hosts: [api.example.com]}], annotations: {a/b: c}}}`,
	"gateway": `{service: {port: 8000}, httpRoute: {enabled: true, parentRefs: [{name: public, namespace: ` +
		`gateways, sectionName: https}], hostnames: [api.example.com]}}`,
	"monitoring": `{serviceMonitor: {enabled: true, annotations: {a/b: c}}, prometheusRule: {enabled: true, ` +
		`annotations: {a/b: c}}}`,
	"everything": `
database: {ca: {secretName: database-ca}}
redis: {ca: {secretName: redis-ca}}
otlp: {headers: {secretName: otlp}}
webhooks: {secretName: webhooks, egress: [{ports: [{protocol: TCP, port: 443}, {protocol: TCP, port: 8443}]}]}
mail: {secretName: mail, from: notices@example.com}
extraEnv: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
envFrom: [{configMapRef: {name: more}}]
extraVolumes: [{name: more, emptyDir: {sizeLimit: 10Mi}}]
extraVolumeMounts: [{name: more, mountPath: /more}]
ingress: {enabled: true, hosts: [api.example.com], labels: {a: b}}
httpRoute: {enabled: true, parentRefs: [{name: public}], labels: {a: b}, annotations: {a/b: c}}
serviceAccount: {create: true, annotations: {a/b: c}}
topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}
  - {maxSkew: 2, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {team: store}}}
priorityClassName: high
image: {repository: registry.example.com/petstore, tag: v0.1.0, pullPolicy: Always}
imagePullSecrets: [{name: registry}]
autoscaling: {enabled: true, minReplicas: 3, maxReplicas: 20}
migrate: {activeDeadlineSeconds: 1000000}
env: {PETSTORE_BASE_URL: "https://api.example.com/v1", PETSTORE_MAX_CONNECTIONS: 30000, PETSTORE_BODY_BYTES: 67108864, PETSTORE_PPROF: true, PETSTORE_HTTP_FAST_PATH: off}
service: {type: LoadBalancer, externalTrafficPolicy: Local, annotations: {example.com/a: b}}
networkPolicy: {clients: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ingress}}}], monitors: [], egress: []}
serviceMonitor: {enabled: true, labels: {release: prometheus}}
prometheusRule: {enabled: true, labels: {release: prometheus}}
podDisruptionBudget: {maxUnavailable: 25%}
podAnnotations: {example.com/a: b}
podLabels: {team: store}
nodeSelector: {kubernetes.io/arch: amd64}
tolerations: [{key: example.com/a, operator: Exists}]
affinity: {nodeAffinity: {}}
`,
}

func parseValues(t *testing.T, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

func TestChart(t *testing.T) {
	t.Parallel()
	for name, text := range installations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fine(t, checkChart(deploy, docs, parseValues(t, text)))
		})
	}
}

// TestChartEnv: servers read integers, which YAML's readers turn into floats.
func TestChartEnv(t *testing.T) {
	t.Parallel()
	values := parseValues(
		t,
		`{env: {PETSTORE_BODY_BYTES: 67108864, PETSTORE_MAX_CONNECTIONS: 0, PETSTORE_PPROF: true, `+
			`PETSTORE_HTTP_FAST_PATH: off, PETSTORE_LOG_LEVEL: "1e6"}}`,
	)
	values["env"].(map[string]any)["PETSTORE_LIST_CACHE_BYTES"] = int64(33554432) // of helm --set
	documents, err := render(chartDir(deploy), values)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(documents, "")
	for _, want := range []string{
		`{name: PETSTORE_BODY_BYTES, value: "67108864"}`,
		`{name: PETSTORE_LIST_CACHE_BYTES, value: "33554432"}`,
		`{name: PETSTORE_MAX_CONNECTIONS, value: "0"}`,
		`{name: PETSTORE_PPROF, value: "true"}`,
		`{name: PETSTORE_HTTP_FAST_PATH, value: "false"}`, // which a switch is read from
		`{name: PETSTORE_LOG_LEVEL, value: "1e6"}`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the deployment has no %s", want)
		}
	}
}

// TestChartOfThePage: the values in docs/containers.md work.
func TestChartOfThePage(t *testing.T) {
	t.Parallel()
	found := regexp.MustCompile(
		"(?s)```yaml\n(.*?)```",
	).FindAllStringSubmatch(
		string(readFile(t, filepath.Join(docs, "containers.md"))),
		-1,
	)
	if len(found) < 2 {
		t.Fatalf("docs/containers.md has %d blocks of values", len(found))
	}
	for _, m := range found {
		fine(t, checkChart(deploy, docs, parseValues(t, m[1])))
	}
}

// TestChartSecretsVersion: servers are replaced after one of their secrets has changed, and not
// otherwise.
func TestChartSecretsVersion(t *testing.T) {
	t.Parallel()
	annotation := regexp.MustCompile(`checksum/secrets: \w{64}`)
	render := func(values, database, other string) string {
		t.Helper()
		chart, all, err := load(chartDir(deploy), parseValues(t, values))
		if err != nil {
			t.Fatal(err)
		}
		cluster := fake.NewSimpleDynamicClient(
			scheme.Scheme,
			newSecret("petstore-database", database),
			newSecret("other", other),
		)
		files, err := engine.RenderWithClientProvider(chart, all, provider{cluster})
		if err != nil {
			t.Fatal(err)
		}
		return annotation.FindString(files["petstore/templates/deployment.yaml"])
	}
	first, named := render("", "1", "1"), render("{secretsVersion: a}", "1", "1")
	for what, got := range map[string]bool{
		"there is one": first != "" && named != "",
		"it stays after a change of another secret":      render("", "1", "2") == first,
		"it changes with the database's secret":          render("", "2", "1") != first,
		"it stays with secretsVersion, whatever changes": render("{secretsVersion: a}", "2", "2") == named,
		"it changes with secretsVersion":                 render("{secretsVersion: b}", "1", "1") != named,
	} {
		if !got {
			t.Errorf("not so: %s", what)
		}
	}
}

func newSecret(name, version string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "petstore", ResourceVersion: version},
	}
}

// provider gives the templates' lookup the objects of a cluster.
type provider struct{ *fake.FakeDynamicClient }

// GetClientFor returns the client of secrets, which are all that the chart looks up.
func (p provider) GetClientFor(string, string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return p.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}), true, nil
}

// TestChartRules: the chart has the alerts of deploy/prometheus. Helm follows no link without a
// warning.
func TestChartRules(t *testing.T) {
	t.Parallel()
	copied := filepath.Join(chartDir(deploy), "files", "petstore.rules.yaml")
	if info, err := os.Lstat(copied); err != nil || !info.Mode().IsRegular() {
		t.Fatalf("%s is no file: %v", copied, err)
	}
	if !bytes.Equal(readFile(t, copied), readFile(t, filepath.Join(deploy, "prometheus", "alerts.yml"))) {
		t.Errorf("%s is not deploy/prometheus/alerts.yml: make generate", copied)
	}
}

// TestChartVersion: the chart has the number of the release that CHANGELOG.md begins with.
func TestChartVersion(t *testing.T) {
	t.Parallel()
	m := regexp.MustCompile(`(?m)^## v(\S+)`).FindSubmatch(readFile(t, filepath.Join(root, "CHANGELOG.md")))
	if m == nil {
		t.Fatal("CHANGELOG.md names no version")
	}
	chart := string(readFile(t, filepath.Join(chartDir(deploy), "Chart.yaml")))
	for _, line := range []string{"version: " + string(m[1]), `appVersion: "` + string(m[1]) + `"`} {
		if !strings.Contains(chart, "\n"+line+"\n") {
			t.Errorf("Chart.yaml has no line %q", line)
		}
	}
}

// TestChartRefuses: values.schema.json and the templates refuse these, so that Helm sends nothing.
func TestChartRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{replica: 3}`:                                                "additional properties 'replica' not allowed",
		`{replicas: "3"}`:                                             "replicas",
		`{replicas: 0}`:                                               "replicas",
		`{redis: {secretName: ""}}`:                                   "two or more servers need Redis",
		`{database: {secretName: My_Secret}}`:                         "secretName",
		`{env: {PETSTORE_ADDR: ":9000"}}`:                             "PETSTORE_ADDR",
		`{env: {petstore_base_url: x}}`:                               "petstore_base_url",
		`{env: {PETSTORE_DATABASE_URL: x}}`:                           "PETSTORE_DATABASE_URL",
		`{env: {PETSTORE_MAX_CONNECTIONS: 0.5}}`:                      "PETSTORE_MAX_CONNECTIONS': got number",
		`{service: {type: ExternalName}}`:                             "type",
		`{serviceMonitor: {interval: often}}`:                         "interval",
		`{goMemLimit: 460Mi}`:                                         "goMemLimit",
		`{resources: {limit: {memory: 1Gi}}}`:                         "limit",
		`{autoscaling: {enabled: true, minReplicas: 11}}`:             "minReplicas is more than",
		`{ingress: {enabled: true}}`:                                  "set ingress.hosts",
		`{ingress: {hosts: ["https://api"]}}`:                         "hosts",
		`{httpRoute: {enabled: true}}`:                                "set httpRoute.parentRefs",
		`{database: {ca: {secret: a}}}`:                               "additional properties 'secret' not allowed",
		`{extraEnv: [{name: A}]}`:                                     "extraEnv",
		`{extraEnv: [{name: A, value: 1}]}`:                           "extraEnv",
		`{extraEnv: [{name: GOMEMLIMIT, value: 1GiB}]}`:               "extraEnv",
		`{migrate: {envFrom: [{secret: {name: a}}]}}`:                 "envFrom",
		`{env: {A: b}, extraEnv: [{name: A, value: c}]}`:              "set twice",
		`{database: {ca: {secretName: a}}, env: {PGSSLROOTCERT: /a}}`: "set twice",
	} {
		_, err := render(chartDir(deploy), parseValues(t, text))
		expect(t, []string{fmt.Sprint(err)}, want)
	}
}

// TestChartAccepts: what Helm would send, and the checks here find.
func TestChartAccepts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{env: {PETSTORE_BASE_ULR: x}}`:                   "sets PETSTORE_BASE_ULR",
		`{goMemLimit: 2GiB}`:                              "GOMEMLIMIT is 4",
		`{networkPolicy: {clients: [{podSelektor: {}}]}}`: `unknown field "spec.ingress[0].from[0].podSelektor"`,
	} {
		if _, err := render(chartDir(deploy), parseValues(t, text)); err != nil {
			t.Errorf("%s is refused: %v", text, err)
		}
		expect(t, checkChart(deploy, docs, parseValues(t, text)), want)
	}
}

const readiness = `          readinessProbe:
            httpGet: {path: /readyz, port: admin}
            periodSeconds: 2
            timeoutSeconds: 2
            failureThreshold: 2
`

func TestChartMistakes(t *testing.T) {
	t.Parallel()
	everything := parseValues(t, installations["everything"])
	for _, m := range []mistake{
		// What the libraries of Helm and Kubernetes find.
		{"Chart.yaml", "version: 0.1.0", "version: one", "one"},
		{"templates/service.yaml", "{{- end }}", "{{- ned }}", "ned"},
		{"templates/deployment.yaml", "automountServiceAccountToken", "autoMountServiceAccountToken",
			`unknown field "spec.template.spec.autoMountServiceAccountToken"`},
		{"templates/deployment.yaml", "replicas: {{ .Values.replicas }}\n  {{- end }}",
			"{{- end }}\n  replicas: many", "replicas"},
		{"templates/deployment.yaml", "kind: Deployment", "kind: Deploiment", "Deploiment"},
		{"templates/deployment.yaml", "      containers:\n        - name: petstore\n",
			"      containers:\n        - name: pet_store\n", "pet_store"},
		{"templates/deployment.yaml", "app.kubernetes.io/component: server\n        {{-",
			"app.kubernetes.io/component: servers\n        {{-", "`selector` does not match template `labels`"},
		{"templates/deployment.yaml", "{name: secrets, mountPath", "{name: secret, mountPath",
			`volumeMounts[0].name: Not found: "secret"`},
		{"templates/deployment.yaml", "periodSeconds: 10", "periodSeconds: -10", "periodSeconds"},
		{"templates/deployment.yaml", "          image: ", "          # image: ", "image: Required value"},
		{"templates/migrate.yaml", "restartPolicy: Never", "restartPolicy: Always", "restartPolicy"},
		{"templates/horizontalpodautoscaler.yaml", "maxReplicas:", "maximumReplicas:", "maximumReplicas"},
		{"templates/horizontalpodautoscaler.yaml", "  maxReplicas: {{ .Values.autoscaling.maxReplicas }}\n", "",
			"maxReplicas"},
		{"templates/poddisruptionbudget.yaml", "policy/v1", "policy/v2", "policy/v2"},
		{"templates/servicemonitor.yaml", "interval:", "intervall:", `unknown field "spec.endpoints[0].intervall"`},
		{"templates/prometheusrule.yaml", "spec: ", "specs: ", `unknown field "specs"`},
		// What the API server accepts.
		{"templates/migrate.yaml", "helm.sh/hook: pre-install,pre-upgrade", "helm.sh/hook: pre-install,preupgrade",
			"has the annotation helm.sh/hook"},
		{"templates/service.yaml", "targetPort: http", "targetPort: htpp", "names port htpp"},
		{"templates/ingress.yaml", "port: {name: http}", "port: {name: htpp}", "ingress store names port htpp"},
		{"templates/ingress.yaml", "pathType: Prefix", "pathType: Start", "pathType"},
		{"templates/httproute.yaml", "parentRefs:", "parentRef:", `unknown field "spec.parentRef"`},
		{"templates/httproute.yaml", "port: {{ .Values.service.port }}", "port: 8080", "route store names port 8080"},
		{"templates/serviceaccount.yaml", "    helm.sh/hook: pre-install,pre-upgrade\n", "",
			"account store-migrate is of no pod, or is made after it"},
		{"templates/service.yaml", "component: server\n  ports", "component: servers\n  ports",
			"service store selects 0 kinds of pods"},
		{"templates/poddisruptionbudget.yaml", "component: server", "component: servers",
			"budget store selects 0 kinds of pods"},
		{"templates/poddisruptionbudget.yaml", "IfHealthyBudget", "AlwaysAllow",
			"budget store lets pods go that are not ready"},
		{"templates/networkpolicy.yaml", "port: http", "port: htpp", "names port htpp"},
		{"templates/networkpolicy.yaml", "policyTypes: [Ingress, Egress]", "policyTypes: [Ingress]",
			"want both directions"},
		{"templates/horizontalpodautoscaler.yaml", `kind: Deployment, name: {{ include "petstore.name" . }}`,
			"kind: Deployment, name: petstore", "scales petstore, which does not exist"},
		{"templates/servicemonitor.yaml", "port: admin", "port: metrics", "monitor store names port metrics"},
		{"templates/deployment.yaml", "path: /livez, port: admin", "path: /livez, port: adnim", "names port adnim"},
		{"templates/deployment.yaml", "path: /livez", "path: /readyz", "want /livez"},
		{"templates/deployment.yaml", "readinessProbe:", "readynessProbe:",
			`unknown field "spec.template.spec.containers[0].readynessProbe"`},
		{"templates/deployment.yaml", readiness, "", "has no readiness probe"},
		{"templates/deployment.yaml", "enableServiceLinks: false", "enableServiceLinks: true",
			"services' names become variables"},
		{"templates/deployment.yaml", "automountServiceAccountToken: false", "automountServiceAccountToken: true",
			"has a token of Kubernetes"},
		{"templates/_helpers.tpl", "runAsNonRoot: true\n", "", "is not restricted: runAsNonRoot"},
		{"templates/_helpers.tpl", "capabilities: {drop: [ALL]}", "capabilities: {}",
			"is not restricted: unrestricted capabilities"},
		{"templates/_helpers.tpl", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false",
			"may write to its image"},
		{"templates/migrate.yaml", "limits: {memory: 128Mi}", "limits: {cpu: 1}", "a limit of memory"},
		{"templates/migrate.yaml", "PETSTORE_DATABASE_URL_FILE,", "PETSTORE_DATABSE_URL_FILE,",
			"sets PETSTORE_DATABSE_URL_FILE"},
		{"templates/migrate.yaml", "defaultMode: 0440", "defaultMode: 0444", "everybody may read the volume"},
		{"templates/migrate.yaml", `"owner_url" .Values`, `"owner" .Values`, "owner_url\", which is not mounted"},
		{"templates/deployment.yaml", `"database_ca.crt" .Values`, `"database_ca.pem" .Values`,
			"database_ca.crt\", which is not mounted"},
		{"templates/deployment.yaml", `"authorities/redis_ca.crt"`, `"redis_ca.crt"`,
			"authorities\", which is not mounted"},
		{"templates/deployment.yaml", `"secrets_key" .Values`, `"key" .Values`, "secrets_key\", which is not mounted"},
		{"templates/deployment.yaml", `"smtp_url" .Values`, `"url" .Values`, "smtp_url\", which is not mounted"},
		{"templates/deployment.yaml", `"otlp_headers" .Values`, `"otlp" .Values`,
			"otlp_headers\", which is not mounted"},
		{"templates/deployment.yaml", ".Values.drainDelaySeconds .Values.stopTimeoutSeconds 10",
			".Values.stopTimeoutSeconds 10", "is killed after 30s"},
		{"templates/deployment.yaml",
			"PETSTORE_DRAIN_DELAY, value: {{ printf \"%ds\" (int .Values.drainDelaySeconds) }}",
			"PETSTORE_DRAIN_DELAY, value: 1s", "want 5s or more"},
	} {
		m.file = filepath.Join("helm", "petstore", m.file)
		expect(t, checkChart(plant(t, m), docs, maps.Clone(everything)), m.want)
	}
}
