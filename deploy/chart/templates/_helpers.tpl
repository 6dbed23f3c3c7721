{{- define "scoreboard.name" -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "scoreboard.tag" -}}
{{ .Values.image.tag | default (printf "v%s" .Chart.AppVersion) }}
{{- end }}

{{- define "scoreboard.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ include "scoreboard.tag" $ }}{{ end }}
{{- end -}}
{{- end }}

{{- /* labels of everything; takes a dict of root and component */ -}}
{{- define "scoreboard.labels" -}}
{{ include "scoreboard.selector" . }}
app.kubernetes.io/version: {{ include "scoreboard.tag" .root | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "scoreboard.selector" -}}
app.kubernetes.io/name: scoreboard
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- /* a setting as an environment variable */ -}}
{{- define "scoreboard.variable" -}}
SCOREBOARD_{{ . | upper | replace "." "_" }}
{{- end }}

{{- /* what Go may use of a memory limit: nine tenths, since stacks of threads, buffers of the
       kernel and the collector itself count, too; takes a dict of component and limit */ -}}
{{- define "scoreboard.memory" -}}
{{- $limit := toString .limit -}}
{{- if not (regexMatch "^[0-9.]*[1-9][0-9.]*(Mi|Gi)$" $limit) -}}
{{- fail (printf "components.%s.resources.limits.memory must be in Mi or Gi, not %q" .component $limit) -}}
{{- end -}}
{{- $mebi := ternary 1024 1 (hasSuffix "Gi" $limit) -}}
{{ mulf (regexFind "^[0-9.]+" $limit | float64) $mebi 0.9 | floor | int64 }}MiB
{{- end }}

{{- define "scoreboard.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "scoreboard.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
