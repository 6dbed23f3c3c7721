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

// traceparent returns the trace context of the command's requests: that of its span if
// there is a collector, else the one that it was given; "" for none.
func (p *program) traceparent() (string, error) {
	given := p.env[envTraceparent]
	if p.env[envCollector] == "" || p.curl {
		return given, nil
	}
	if err := tracing.CheckEndpoint(p.env[envCollector]); err != nil {
		return "", usagef("%s %w", envCollector, err)
	}
	if p.tracer == nil {
		level := slog.LevelWarn
		if p.quiet {
			level = slog.LevelError
		}
		tracer, err := tracing.New(tracing.Options{
			Endpoint: p.env[envCollector], Sample: 1, Service: "sbctl", Version: buildinfo.Read().Version,
			Log: slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: level})),
		})
		if err != nil {
			return "", err
		}
		parent, _ := tracing.ParseParent(given) // without a valid one the trace begins here
		p.tracer = tracer
		_, p.span = tracer.Root(context.Background(), parent, tracing.Client, "sbctl")
	}
	return p.span.Traceparent(), nil
}

// endTrace ends the command's span and sends it to the collector.
func (p *program) endTrace(cmd *cobra.Command, err error) {
	if cmd != nil {
		p.span.Rename(cmd.CommandPath())
	}
	if err != nil {
		p.span.Fail("error")
	}
	p.span.End()
	p.tracer.Close()
}
