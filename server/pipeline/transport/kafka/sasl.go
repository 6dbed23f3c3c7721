package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// SASL is how a client authenticates.
type SASL struct {
	name      string
	mechanism sasl.Mechanism
}

// NewSASL returns the mechanism plain or scram-sha-512 for a user.
func NewSASL(mechanism, user, password string) (*SASL, error) {
	switch mechanism {
	case "plain":
		return &SASL{mechanism, plain.Mechanism{Username: user, Password: password}}, nil
	case "scram-sha-512":
		m, err := scram.Mechanism(scram.SHA512, user, password)
		if err != nil { // the reason may quote the password
			return nil, &scoreboard.SetupError{
				Setting: "kafka.sasl_password", Fix: "use printable characters",
				Problem: "it or kafka.sasl_user has characters that SCRAM does not allow",
			}
		}
		return &SASL{mechanism, m}, nil
	}
	return nil, fmt.Errorf("unknown SASL mechanism %q", mechanism)
}

// explain returns a *scoreboard.SetupError for an error that a setting can prevent, and
// other errors as they are.
func (c *Client) explain(err error) error {
	e := &scoreboard.SetupError{Setting: "kafka.sasl", Err: err}
	switch {
	case errors.As(err, new(*scoreboard.SetupError)):
		return err
	case errors.Is(err, kafkago.SASLAuthenticationFailed):
		e.Setting, e.Problem = "kafka.sasl_password", "the brokers reject it or kafka.sasl_user"
		e.Fix = "correct both, or create the user for " + c.o.SASL.name + " in Kafka"
	case errors.Is(err, kafkago.UnsupportedSASLMechanism):
		e.Problem, e.Fix = "the brokers do not offer "+c.o.SASL.name, "use a mechanism that they offer"
	case errors.Is(err, kafkago.IllegalSASLState):
		e.Problem, e.Fix = "the brokers do not use SASL at this port", "use their port for SASL, or remove the setting"
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		switch {
		case c.mechanism == nil && c.o.TLS == nil:
			e.Problem = "a broker closed the connection without an answer"
			e.Fix = "set it if the broker requires SASL, and kafka.tls if it requires TLS"
		case c.mechanism == nil:
			e.Problem = "a broker closed the connection without an answer"
			e.Fix = "set it if the broker requires SASL"
		case c.o.TLS == nil:
			e.Setting, e.Problem = "kafka.tls", "a broker closed the connection without an answer"
			e.Fix = "set it if the broker requires TLS"
		default:
			return err
		}
	default:
		return err
	}
	return e
}

// authenticate authenticates a connection on which exchange sends requests.
func (c *Client) authenticate(ctx context.Context, exchange func(kmsg.Request) (kmsg.Response, error)) error {
	if c.mechanism == nil {
		return nil
	}
	handshake := kmsg.NewPtrSASLHandshakeRequest()
	handshake.SetVersion(1)
	handshake.Mechanism = c.mechanism.Name()
	answer, err := exchange(handshake)
	if err != nil {
		return err
	}
	if code := answer.(*kmsg.SASLHandshakeResponse).ErrorCode; code != 0 {
		return kafkago.Error(code)
	}
	session, message, err := c.mechanism.Start(ctx)
	for done := false; err == nil && !done; {
		request := kmsg.NewPtrSASLAuthenticateRequest()
		request.SASLAuthBytes = message
		if answer, err = exchange(request); err != nil {
			return err
		}
		said := answer.(*kmsg.SASLAuthenticateResponse)
		if said.ErrorCode != 0 {
			return kafkago.Error(said.ErrorCode)
		}
		done, message, err = session.Next(ctx, said.SASLAuthBytes)
	}
	return err
}
