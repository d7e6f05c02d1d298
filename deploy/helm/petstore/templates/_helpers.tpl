{{- define "petstore.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "petstore.selector" -}}
app.kubernetes.io/name: petstore
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "petstore.labels" -}}
{{ include "petstore.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "petstore.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "petstore.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "petstore.egress" -}}
- ports:
    - {protocol: UDP, port: 53}
    - {protocol: TCP, port: 53}
{{- with .Values.networkPolicy.egress }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* The files of a pod: a dict from each one's name in the volume to the value that names its secret and key. */}}
{{- define "petstore.secrets" -}}
{{- range $path, $secret := . }}
{{- if $secret.secretName }}
- secret:
    name: {{ $secret.secretName }}
    items: [{key: {{ $secret.key }}, path: {{ $path }}}]
{{- end }}
{{- end }}
{{- end }}

{{- /* It changes with the secrets that the servers read. Their contents are not in it: others may read a pod's annotations. */}}
{{- define "petstore.secretsVersion" -}}
{{- $seen := list .Values.secretsVersion }}
{{- if not .Values.secretsVersion }}
{{- range list .Values.database .Values.database.ca .Values.redis .Values.redis.ca .Values.webhooks .Values.mail .Values.otlp.headers }}
{{- if .secretName }}
{{- $seen = append $seen (dig "metadata" "resourceVersion" "" (lookup "v1" "Secret" $.Release.Namespace .secretName)) }}
{{- end }}
{{- end }}
{{- end }}
{{- $seen | join "\n" | sha256sum }}
{{- end }}

{{- define "petstore.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "petstore.name" .) "" .Values.serviceAccount.create) }}
{{- end }}

{{- define "petstore.migrateServiceAccount" -}}
{{- with include "petstore.serviceAccount" . }}{{ . }}{{ if $.Values.serviceAccount.create }}-migrate{{ end }}{{ end }}
{{- end }}
