// Package grafana defines the dashboards. The files in dashboards are written from it:
//
//	go test ./deploy/grafana -update
package grafana

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Dashboard is a page of panels, graphs three in a row, below a row of figures if it has any.
type Dashboard struct {
	Name   string // of its file, and its id in Grafana
	Title  string
	About  string
	Panels []Panel
}

// Panel is a graph, or a figure that says at a glance whether it is well.
type Panel struct {
	Title string
	About string
	Unit  string // of Grafana: s, bytes, reqps, percentunit, short
	Lines []Line
	Limit *Limit // of a figure; nil: a graph
}

// Limit is from where on a figure is yellow, and red. Red is where an alert fires.
type Limit struct{ Warn, Bad float64 }

// Line is a query and the name of its series.
type Line struct{ Expr, Legend string }

func graph(title, unit, about string, lines ...Line) Panel {
	return Panel{Title: title, About: about, Unit: unit, Lines: lines}
}

func figure(title, unit, about string, limit Limit, expr string) Panel {
	return Panel{Title: title, About: about, Unit: unit, Lines: []Line{{expr, ""}}, Limit: &limit}
}

func line(expr, legend string) Line { return Line{expr, legend} }

// quantiles are the p50, p95 and p99 of a histogram; matchers may be empty.
func quantiles(metric, matchers string) []Line {
	var all []Line
	for _, percent := range []int{50, 95, 99} {
		expr := fmt.Sprintf("histogram_quantile(0.%d, sum by (le) (rate(%s_bucket{%s}[$__rate_interval])))",
			percent, metric, matchers)
		all = append(all, Line{expr, fmt.Sprintf("p%d", percent)})
	}
	return all
}

// rate is the rate of a counter per second, by labels.
func rate(metric, by string) string {
	return fmt.Sprintf("sum by (%s) (rate(%s[$__rate_interval]))", by, metric)
}

// quantile95 is the p95 of a histogram by a label.
func quantile95(metric, by string) string {
	return fmt.Sprintf("histogram_quantile(0.95, sum by (%s, le) (rate(%s_bucket[$__rate_interval])))", by, metric)
}

// total is the rate of a counter per second.
func total(metric string) string { return fmt.Sprintf("sum(rate(%s[$__rate_interval]))", metric) }

// count is the increase of a counter in a time.
func count(metric, in string) string { return fmt.Sprintf("sum(increase(%s[%s]))", metric, in) }

// share is the share of the responses that match, over a time; 0 if none does.
func share(matchers, over string) string {
	return fmt.Sprintf("(sum(rate(%s{%s}[%s])) or vector(0)) / sum(rate(%s[%s]))",
		requests, matchers, over, requests, over)
}

const requests = "scoreboard_api_request_seconds_count"

// Dashboards returns all dashboards.
func Dashboards() []Dashboard {
	return []Dashboard{overview(), pipeline(), realtime(), backends(), abuse(), capacity()}
}

func overview() Dashboard {
	return Dashboard{
		"scoreboard-overview", "Scoreboard: overview",
		"Rates, errors, latencies, freshness and lag.",
		[]Panel{
			figure("Nodes that are not ready", "short", "Nodes that Prometheus does not reach count, too.",
				Limit{1, 1}, `count(up{job="scoreboardd"} == 0 or scoreboard_ready == 0) or vector(0)`),
			figure("5xx", "percentunit", "Share of responses in 5 minutes.", Limit{0.001, 0.01},
				share(`status=~"5.."`, "5m")),
			figure("Slowest 1 % of increments", "s", "Over 5 minutes.", Limit{0.25, 0.5},
				`histogram_quantile(0.99, sum by (le) (rate(scoreboard_api_request_seconds_bucket{`+
					`route="/v1/scores/increment"}[5m])))`),
			figure("Age of the ranking", "s", "How old what clients see is.", Limit{5, 30},
				"max(scoreboard_ranking_age_seconds)"),
			figure("Changes in the outbox", "short", "Recorded, and not published yet.", Limit{100, 1000},
				"sum(max by (shard) (scoreboard_outbox_depth_rows))"),
			figure("New dead letters", "short", "In 15 minutes.", Limit{1, 1},
				"sum(increase(scoreboard_projection_dead_letters_total[15m])) + "+
					"sum(increase(scoreboard_outbox_dead_letters_total[15m]))"),
			graph("Requests", "reqps", "By API: native or a dialect.", line(rate(requests, "dialect"), "{{dialect}}")),
			graph("Increments", "short", "Recorded, repeated, rejected and refused, per second.",
				line(total("scoreboard_ingest_accepted_total"), "recorded"),
				line(total("scoreboard_ingest_replayed_total"), "repeated"),
				line(total("scoreboard_ingest_rejected_total"), "rejected"),
				line(total("scoreboard_ingest_overloaded_total"), "overloaded")),
			graph("Errors", "percentunit", "Share of responses; alerts at 1%.",
				line(share(`status=~"5.."`, "$__rate_interval"), "5xx"),
				line(share(`status=~"4..",status!="404"`, "$__rate_interval"), "4xx without 404")),
			graph("Latency of increments", "s", "",
				quantiles("scoreboard_api_request_seconds", `route="/v1/scores/increment"`)...),
			graph("Latency of reads", "s", "Top, me and ranks, without long polls.",
				quantiles("scoreboard_api_request_seconds", `route=~"/v1/leaderboard/(top|me|users)|/v1/users/.*"`)...),
			graph("p99 by route", "s", "The slowest routes.",
				line(`topk(8, histogram_quantile(0.99, sum by (route, le) (rate(scoreboard_api_request_seconds_bucket{`+
					`route!~".*[?]wait|.*realtime/leaderboard|.*/ws.*|.*/stream"}[$__rate_interval]))))`, "{{route}}")),
			graph("Age of the ranking", "s", "How old what clients see is; alert at 30 s.",
				line("max(scoreboard_ranking_age_seconds)", "ranking"),
				line("max(scoreboard_standings_age_seconds)", "standings in PostgreSQL"),
				line("max by (backend) (scoreboard_replica_behind_seconds)", "replica of {{backend}}, behind")),
			graph("Teams", "s", "How far the scores of teams are behind those of their members; alert at 60 s.",
				line("max(scoreboard_teams_age_seconds)", "behind"),
				line("histogram_quantile(0.95, sum by (le) "+
					"(rate(scoreboard_teams_pass_seconds_bucket[$__rate_interval])))", "p95 of a pass")),
			graph("Commit to ranking", "s", "", quantiles("scoreboard_projection_lag_seconds", "")...),
			graph("Backlog", "short", "Changes in the outbox and records in topics that are not consumed.",
				line("sum(max by (shard) (scoreboard_outbox_depth_rows))", "outbox"),
				line("max by (topic, group) (scoreboard_broker_lag_records)", "{{topic}} {{group}}")),
			graph("Ready", "short", "Processes that are ready, and backends that a process does not reach.",
				line("sum(scoreboard_ready)", "ready"),
				line("count by (backend) (scoreboard_backend_up == 0)", "no {{backend}}")),
			graph("Boards by state", "short", "Reads of DEGRADED_REBUILDING boards come from PostgreSQL.",
				line("max by (state) (scoreboard_repair_boards)", "{{state}}")),
			graph("Error budget", "percentunit", "Share of 5xx over an hour and six hours; the objective is 0.1%.",
				line(share(`status=~"5.."`, "1h"), "1 h"),
				line(share(`status=~"5.."`, "6h"), "6 h")),
		},
	}
}

func pipeline() Dashboard {
	return Dashboard{"scoreboard-pipeline", "Scoreboard: pipeline", "From the commit to Redis.", []Panel{
		graph("Waiting for a transaction", "short", "",
			line("sum by (instance) (scoreboard_ingest_waiting)", "{{instance}}")),
		graph("Transactions", "s", "Duration of a batch's transaction.",
			quantiles("scoreboard_ingest_commit_seconds", "")...),
		graph("Increments in a transaction", "short", "", quantiles("scoreboard_ingest_batch_size", "")...),
		graph("Outbox", "short", "Rows that are not published; alert at 1,000.",
			line("max by (shard) (scoreboard_outbox_depth_rows)", "shard {{shard}}")),
		graph("Age of the outbox", "s", "The oldest row, and the oldest write transaction, which holds it back.",
			line("max by (shard) (scoreboard_outbox_oldest_age_seconds)", "shard {{shard}}"),
			line("max(scoreboard_outbox_horizon_age_seconds)", "oldest transaction")),
		graph("Published", "short", "Changes per second.",
			line(total("scoreboard_outbox_published_total"), "published"),
			line(total("scoreboard_projection_applied_total"), "applied")),
		graph("Commit to transport", "s", "", quantiles("scoreboard_outbox_lag_seconds", "")...),
		graph("Commit to ranking", "s", "", quantiles("scoreboard_projection_lag_seconds", "")...),
		graph("Records to consume", "short", "",
			line("max by (topic, group) (scoreboard_broker_lag_records)", "{{topic}} {{group}}")),
		graph("Writes to topics and streams", "s", "p95 by topic.",
			line(quantile95("scoreboard_broker_produce_seconds", "topic"), "{{topic}}")),
		graph("Failures", "short", "Per second.",
			line(rate("scoreboard_broker_produce_errors_total", "topic"), "produce {{topic}}"),
			line(total("scoreboard_outbox_failures_total"), "relay"),
			line(total("scoreboard_projection_failures_total"), "projection"),
			line(total("scoreboard_announce_failures_total"), "announcer"),
			line(total("scoreboard_broker_stalls_total"), "stalled readers")),
		graph("Dead letters and pauses", "short", "In an hour.",
			line(count("scoreboard_outbox_dead_letters_total", "1h"), "outbox"),
			line(count("scoreboard_projection_dead_letters_total", "1h"), "projection"),
			line(count("scoreboard_intake_dead_letters_total", "1h"), "intake"),
			line(count("scoreboard_projection_newer_schema_total", "1h")+" + "+
				count("scoreboard_intake_newer_schema_total", "1h"),
				"paused by a newer schema"),
			line(count("scoreboard_broker_lost_records_total", "1h"), "lost with a log")),
		graph("Comparison with PostgreSQL", "short", "Users per second, and differences in an hour.",
			line(total("scoreboard_reconcile_checked_total"), "compared"),
			line(count("scoreboard_reconcile_drift_total", "1h"), "differences"),
			line(count("scoreboard_reconcile_repaired_total", "1h"), "repaired"),
			line(count("scoreboard_reconcile_pass_drift_total", "1h"), "differences of full comparisons"),
			line(count("scoreboard_repair_rebuilds_total", "1h"), "rebuilds")),
		graph("Periods", "short", "Ended and announced in a day; seconds that the oldest is late.",
			line(count("scoreboard_rollover_closed_total", "1d"), "closed"),
			line(count("scoreboard_rollover_announced_total", "1d"), "announced"),
			line("max(scoreboard_rollover_late_seconds)", "late")),
		graph("Feeds", "short", "Changes per second, by feed.",
			line(rate("scoreboard_mirror_published_total", "feed"), "{{feed}}"),
			line("max by (feed) (scoreboard_mirror_stalled_seconds)", "{{feed}} stalled (s)")),
	}}
}

func realtime() Dashboard {
	return Dashboard{"scoreboard-realtime", "Scoreboard: realtime", "Streams to clients.", []Panel{
		graph("Connections", "short", "",
			line("sum by (dialect, transport) (scoreboard_realtime_connections)", "{{dialect}} {{transport}}")),
		graph("Connections by process", "short", "",
			line("sum by (instance) (scoreboard_realtime_connections)", "{{instance}}")),
		graph("Frames", "short", "Per second, by transport and type.",
			line(rate("scoreboard_realtime_messages_sent_total", "transport, type"), "{{transport}} {{type}}")),
		graph("Closed", "short", "Per second, by reason.",
			line(rate("scoreboard_realtime_closed_total", "reason"), "{{reason}}")),
		graph("Rejected", "short", "Per second, by limit.",
			line(rate("scoreboard_realtime_rejected_total", "limit"), "{{limit}}")),
		graph("Slow clients", "short", "Connections that do not read, and states that they skipped per second.",
			line("sum(scoreboard_realtime_stalled_connections)", "stalled"),
			line(total("scoreboard_realtime_states_skipped_total"), "skipped")),
		graph("Window", "s", "Minimum time between two messages of a board; it grows while a process lags.",
			line("max by (instance) (scoreboard_realtime_window_seconds)", "{{instance}}")),
		graph("Encoding", "s", "", quantiles("scoreboard_realtime_encode_seconds", "")...),
		graph("Boards streamed", "short", "", line("max by (instance) (scoreboard_realtime_boards)", "{{instance}}")),
		graph("Lost notices", "short", "Boards that were read again because no notice came, per second.",
			line(rate("scoreboard_realtime_checks_total", "result"), "{{result}}"),
			line(rate("scoreboard_notices_skipped_total", "source"), "not decoded, {{source}}")),
		graph("Age of what is shown", "s", "", line("max(scoreboard_ranking_age_seconds)", "ranking"),
			line("max by (instance) (scoreboard_realtime_lag_seconds)", "{{instance}}")),
		graph("Long polls", "reqps", "",
			line(`sum by (status) (rate(scoreboard_api_request_seconds_count{route=~".*[?]wait"}[$__rate_interval]))`,
				"{{status}}")),
	}}
}

func backends() Dashboard {
	return Dashboard{
		"scoreboard-backends", "Scoreboard: backends",
		"What the processes see of their backends.",
		[]Panel{
			graph("Reached", "short", "Processes that reach a backend.",
				line("sum by (backend) (scoreboard_backend_up)", "{{backend}}")),
			graph("PostgreSQL: calls", "s", "p95 of a query, a batch, and of the wait for a connection.",
				line(quantile95("scoreboard_postgres_call_seconds", "call"), "{{call}}")),
			graph("PostgreSQL: failures", "short", "Per second.",
				line(rate("scoreboard_postgres_call_errors_total", "call"), "{{call}}")),
			graph("PostgreSQL: pool", "short", "Connections of the processes.",
				line("sum by (state) (scoreboard_postgres_pool_connections)", "{{state}}"),
				line("sum(scoreboard_postgres_pool_limit)", "limit")),
			graph("PostgreSQL: waits for the pool", "s", "Seconds of waiting, waits and new connections, per second.",
				line(total("scoreboard_postgres_pool_wait_seconds_total"), "waiting"),
				line(total("scoreboard_postgres_pool_waits_total"), "waits"),
				line(total("scoreboard_postgres_pool_opened_total"), "opened")),
			graph("PostgreSQL: server", "short", "Connections of all clients.",
				line("max(scoreboard_postgres_server_connections)", "connections"),
				line("max(scoreboard_postgres_server_connections_limit)", "limit")),
			graph("PostgreSQL: replicas", "s", "How far they are behind; visible to members of pg_monitor.",
				line("max by (replica) (scoreboard_postgres_replica_lag_seconds)", "{{replica}}"),
				line("max(scoreboard_postgres_replicas)", "replicas")),
			graph("Redis: calls", "s", "p95 by command.",
				line(quantile95("scoreboard_redis_call_seconds", "call"), "{{call}}")),
			graph("Redis: calls per second", "short", "",
				line(rate("scoreboard_redis_call_seconds_count", "call"), "{{call}}")),
			graph("Redis: failures", "short", "Per second.",
				line(rate("scoreboard_redis_call_errors_total", "call"), "{{call}}"),
				line(total("scoreboard_redis_pool_timeouts_total"), "no connection")),
			graph("Redis: memory", "percentunit", "Plan at 60%, alert at 70%.",
				line("max by (node) (scoreboard_redis_memory_used_bytes / scoreboard_redis_memory_limit_bytes)",
					"{{node}}")),
			graph("Redis: CPU", "percentunit", "Of one core.",
				line("max by (node) (rate(scoreboard_redis_cpu_seconds_total[$__rate_interval]))", "{{node}}")),
			graph("Redis: persistence", "short", "Failed writes, hours since the last snapshot, evictions in an hour.",
				line("max by (node, kind) (scoreboard_redis_persistence_failed)", "{{node}} {{kind}} failed"),
				line("max by (node) (scoreboard_redis_snapshot_age_seconds) / 3600", "{{node}} snapshot (h)"),
				line("sum by (node) (increase(scoreboard_redis_evicted_keys_total[1h]))", "{{node}} evicted")),
			graph("Redis: connections", "short", "",
				line("max by (node) (scoreboard_redis_server_connections)", "{{node}}"),
				line("sum by (state) (scoreboard_redis_pool_connections)", "pool {{state}}"),
				line("max by (node) (scoreboard_redis_replicas)", "{{node}} replicas")),
			graph("Kafka: writes", "s", "p95 by topic.",
				line(quantile95("scoreboard_broker_produce_seconds", "topic"), "{{topic}}")),
			graph("Kafka: failures", "short", "Per second.",
				line(rate("scoreboard_broker_produce_errors_total", "topic"), "{{topic}}")),
			graph("Kafka: lag", "short", "",
				line("max by (topic, group) (scoreboard_broker_lag_records)", "{{topic}} {{group}}")),
			graph("Kafka: damage", "short", "In a day.",
				line("sum by (topic) (increase(scoreboard_broker_log_damages_total[1d]))", "{{topic}}")),
		},
	}
}

func abuse() Dashboard {
	return Dashboard{"scoreboard-abuse", "Scoreboard: abuse", "Rejected, repeated and suspicious requests.", []Panel{
		graph("Anomalies", "short", "In ten minutes, by rule and mode.",
			line("sum by (rule, mode) (increase(scoreboard_anomalies_total[10m]))", "{{rule}} {{mode}}")),
		graph("Failed authentications", "reqps", "",
			line(rate("scoreboard_api_auth_failures_total", "reason"), "{{reason}}")),
		graph("Over a limit", "reqps", "", line(rate("scoreboard_limit_rejected_total", "limit"), "{{limit}}")),
		graph("Repeats", "percentunit", "Share of increments that had counted before; alert at 10%.",
			line(total("scoreboard_ingest_replayed_total")+" / ("+total("scoreboard_ingest_accepted_total")+" + "+
				total("scoreboard_ingest_replayed_total")+")", "repeats")),
		graph("Rejections by status", "reqps", "",
			line(`sum by (status) (rate(scoreboard_api_request_seconds_count{status=~"4.."}[$__rate_interval]))`,
				"{{status}}")),
		graph("Increments rejected by a rule", "short", "Per second.",
			line(total("scoreboard_ingest_rejected_total"), "rejected")),
		graph("Connections rejected", "short", "Per second.",
			line(rate("scoreboard_realtime_rejected_total", "limit"), "{{limit}}")),
		graph("Limits without Redis", "short", "Processes that limit alone, and decisions per second.",
			line("sum(scoreboard_limit_breaker_open)", "processes"),
			line(total("scoreboard_limit_local_decisions_total"), "decisions")),
		graph("Moderation", "short", "Transactions of jobs per second, and failures in an hour.",
			line(total("scoreboard_moderation_steps_total"), "steps"),
			line(count("scoreboard_moderation_failures_total", "1h"), "failures")),
		graph("Audit trail", "short", "Sealed rows per second, and failures in an hour.",
			line(total("scoreboard_audit_sealed_total"), "sealed"),
			line(count("scoreboard_audit_seal_failures_total", "1h"), "failures")),
		graph("Busiest boards", "short", "Increments per second.",
			line("topk(10, sum by (board) (rate(scoreboard_ingest_board_increments_total[$__rate_interval])))",
				"{{board}}")),
		graph("Clocks", "s", "Difference to the database.",
			line("max by (instance) (abs(scoreboard_clock_offset_seconds))", "{{instance}}")),
	}}
}

func capacity() Dashboard {
	return Dashboard{
		"scoreboard-capacity", "Scoreboard: capacity",
		"How full each part is, and how fast it grows.",
		[]Panel{
			graph("CPU", "short", "Cores used, by process.",
				line("sum by (instance) (rate(process_cpu_seconds_total[$__rate_interval]))", "{{instance}}")),
			graph("Memory", "bytes", "By process.",
				line("max by (instance) (process_resident_memory_bytes)", "{{instance}}")),
			graph("Open files", "percentunit", "",
				line("max by (instance) (process_open_fds / process_max_fds)", "{{instance}}")),
			graph("Requests a core", "reqps", "",
				line(total(requests)+" / "+total("process_cpu_seconds_total"),
					"requests")),
			graph("Redis: memory", "percentunit", "With the value in 30 days, at the growth of the last week.",
				line("max by (node) (scoreboard_redis_memory_used_bytes / scoreboard_redis_memory_limit_bytes)",
					"{{node}}"),
				line("max by (node) (predict_linear(scoreboard_redis_memory_used_bytes[7d], 30 * 86400) / "+
					"scoreboard_redis_memory_limit_bytes)",
					"{{node}} in 30 days")),
			graph("Redis: CPU", "percentunit", "Of one core.",
				line("max by (node) (rate(scoreboard_redis_cpu_seconds_total[$__rate_interval]))", "{{node}}")),
			graph("PostgreSQL: size", "bytes", "With the value in 30 days.",
				line("max(scoreboard_postgres_database_bytes)", "now"),
				line("max(predict_linear(scoreboard_postgres_database_bytes[7d], 30 * 86400))", "in 30 days")),
			graph("PostgreSQL: connections", "percentunit", "",
				line("max(scoreboard_postgres_server_connections) / max(scoreboard_postgres_server_connections_limit)",
					"in use")),
			graph("PostgreSQL: pools", "percentunit", "",
				line(`sum by (instance) (scoreboard_postgres_pool_connections{state="in_use"}) / `+
					`sum by (instance) (scoreboard_postgres_pool_limit)`,
					"{{instance}}")),
			graph("Outbox partitions", "short", "", line("max(scoreboard_outbox_partitions)", "partitions")),
			graph("Cache of reads", "percentunit", "Share of reads that the process answered from memory.",
				line(`sum by (what) (rate(scoreboard_leaderboard_cache_total{result!="miss"}[$__rate_interval])) / `+
					rate("scoreboard_leaderboard_cache_total", "what"),
					"{{what}}")),
			graph("Degraded reads", "reqps", "Answered by PostgreSQL.",
				line(total("scoreboard_leaderboard_degraded_reads_total"), "reads"),
				line("sum by (for) (scoreboard_leaderboard_breaker_open)", "not called for {{for}}")),
			graph("Batches", "short", "Per second, by how they were recorded.",
				line(rate("scoreboard_ledger_batches_total", "kind"), "{{kind}}")),
			graph("Increments in a day", "short", "",
				line(count("scoreboard_ingest_accepted_total", "1d"), "increments")),
			graph("Goroutines", "short", "By process.", line("max by (instance) (go_goroutines)", "{{instance}}")),
		},
	}
}

// Encode returns the JSON of a dashboard, as Grafana reads it.
func (d *Dashboard) Encode() ([]byte, error) {
	source := map[string]string{"type": "prometheus", "uid": "${datasource}"}
	const columns, width, height = 3, 8, 8
	figures := 0 // they come first
	for _, p := range d.Panels {
		if p.Limit != nil {
			figures++
		}
	}
	top := 0
	if figures > 0 {
		top = figureHeight
	}
	panels := make([]any, len(d.Panels))
	for i, p := range d.Panels {
		targets := make([]any, len(p.Lines))
		for j, l := range p.Lines {
			targets[j] = map[string]any{
				"refId": string(rune('A' + j)), "expr": OfInstance(l.Expr), "legendFormat": l.Legend,
				"datasource": source,
			}
		}
		if p.Limit != nil {
			panels[i] = p.encodeFigure(i, 24/figures, targets, source)
			continue
		}
		place := i - figures
		panels[i] = map[string]any{
			"id": i + 1, "type": "timeseries", "title": p.Title, "description": p.About, "datasource": source,
			"targets": targets, "gridPos": map[string]int{
				"x": place % columns * width, "y": top + place/columns*height, "w": width, "h": height,
			},
			"fieldConfig": map[string]any{
				"defaults":  map[string]any{"unit": p.Unit, "min": 0, "custom": map[string]any{"fillOpacity": 8}},
				"overrides": []any{},
			},
			"options": map[string]any{
				"legend":  map[string]any{"displayMode": "list", "placement": "bottom", "showLegend": true},
				"tooltip": map[string]any{"mode": "multi", "sort": "desc"},
			},
		}
	}
	b, err := json.MarshalIndent(map[string]any{
		"uid": d.Name, "title": d.Title, "description": d.About, "tags": []string{"scoreboard"}, "editable": true,
		"schemaVersion": 41, "version": 1, "refresh": "30s", "timezone": "utc",
		"time": map[string]string{"from": "now-1h", "to": "now"}, "panels": panels,
		"templating": map[string]any{"list": []any{
			map[string]any{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"},
			map[string]any{
				"name": "instance", "type": "query", "label": "Instance", "datasource": source, "refresh": 2,
				"query": map[string]string{"query": "label_values(scoreboard_ready, instance)", "refId": "instance"},
				"multi": true, "includeAll": true, "allValue": ".*", "sort": 1,
				"current": map[string]any{"text": "All", "value": "$__all"},
			},
		}},
		"annotations": map[string]any{"list": []any{
			annotation(source, "Starts", "blue", "A node started, as in a deploy",
				`(time() - process_start_time_seconds{job="scoreboardd"}) < 60`, "{{instance}}"),
			annotation(source, "Rebuilds", "orange", "A ranking was rebuilt because Redis lost it",
				"increase(scoreboard_repair_rebuilds_total[1m]) > 0", "{{instance}}"),
			annotation(source, "Settings", "purple", "A setting was changed",
				"increase(scoreboard_settings_changes_total[1m]) > 0", "{{instance}}"),
		}},
		"links": []any{map[string]any{
			"type": "dashboards", "tags": []string{"scoreboard"}, "title": "Scoreboard", "asDropdown": true,
		}},
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the dashboard %s: %w", d.Name, err)
	}
	return append(b, '\n'), nil
}

// figureHeight is that of the row of figures.
const figureHeight = 4

// encodeFigure returns the figure with its place in the first row.
func (p *Panel) encodeFigure(i, width int, targets []any, source any) map[string]any {
	return map[string]any{
		"id": i + 1, "type": "stat", "title": p.Title, "description": p.About, "datasource": source,
		"targets": targets,
		"gridPos": map[string]int{"x": i * width, "y": 0, "w": width, "h": figureHeight},
		"fieldConfig": map[string]any{
			"defaults": map[string]any{"unit": p.Unit, "noValue": "–", "thresholds": map[string]any{
				"mode": "absolute", "steps": []any{
					map[string]any{"color": "green", "value": nil},
					map[string]any{"color": "yellow", "value": p.Limit.Warn},
					map[string]any{"color": "red", "value": p.Limit.Bad},
				},
			}},
			"overrides": []any{},
		},
		"options": map[string]any{
			"colorMode": "background", "graphMode": "area", "textMode": "value",
			"reduceOptions": map[string]any{"calcs": []string{"lastNotNull"}},
		},
	}
}

func annotation(source any, name, colour, title, expr, text string) map[string]any {
	return map[string]any{
		"name": name, "datasource": source, "enable": true, "iconColor": colour, "expr": OfInstance(expr),
		"titleFormat": title, "textFormat": text, "step": "60s",
	}
}

var metricName = regexp.MustCompile(`\b(?:scoreboard|process|go)_[a-z0-9_]+(?:\{|\b)|\bup\{`)

// OfInstance narrows the metrics of an expression down to the instances that are chosen on the
// dashboard.
func OfInstance(expr string) string {
	const matcher = `instance=~"$instance"`
	return metricName.ReplaceAllStringFunc(expr, func(found string) string {
		if name, ok := strings.CutSuffix(found, "{"); ok {
			return name + "{" + matcher + ", "
		}
		return found + "{" + matcher + "}"
	})
}
