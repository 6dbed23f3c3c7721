package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/internal/buildinfo"
	"github.com/scoreboard/scoreboard/internal/tracing"
)

// The variables of OpenTelemetry: the trace that a command continues, and the collector
// that gets its span.
const (
	envTraceparent = "TRACEPARENT"
	envCollector   = "OTEL_EXPORTER_OTLP_ENDPOINT"
)

// trace is the span of the command.
type trace struct {
	out    *output
	tracer *tracing.Tracer // nil without a collector
	span   *tracing.Span
}

// traceparent returns the trace context of the command's requests: that of its span if
// there is a collector, else the one that it was given; "" for none.
func (t *trace) traceparent() (string, error) {
	given := t.out.env[envTraceparent]
	if t.out.env[envCollector] == "" {
		return given, nil
	}
	if err := tracing.CheckEndpoint(t.out.env[envCollector]); err != nil {
		return "", usagef("%s %w", envCollector, err)
	}
	if t.tracer == nil {
		level := slog.LevelWarn
		if t.out.quiet {
			level = slog.LevelError
		}
		tracer, err := tracing.New(tracing.Options{
			Endpoint: t.out.env[envCollector], Sample: 1, Service: "sbctl", Version: buildinfo.Read().Version,
			Log: slog.New(slog.NewTextHandler(t.out.stderr, &slog.HandlerOptions{Level: level})),
		})
		if err != nil {
			return "", err
		}
		parent, _ := tracing.ParseParent(given) // without a valid one the trace begins here
		t.tracer = tracer
		_, t.span = tracer.Root(context.Background(), parent, tracing.Client, "sbctl")
	}
	return t.span.Traceparent(), nil
}

// end ends the command's span and sends it to the collector.
func (t *trace) end(cmd *cobra.Command, err error) {
	if cmd != nil {
		t.span.Rename(cmd.CommandPath())
	}
	if err != nil {
		t.span.Fail("error")
	}
	t.span.End()
	t.tracer.Close()
}
