package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Explain returns a *scoreboard.SetupError for an error of a TLS connection that a
// setting can prevent, and other errors as they are. setting is what the names of the
// settings begin with, such as "kafka.tls".
func Explain(setting string, err error) error {
	if err == nil {
		return nil
	}
	var known *scoreboard.SetupError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var otherName x509.HostnameError
	var record tls.RecordHeaderError
	var network *net.OpError
	e := &scoreboard.SetupError{Err: err}
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &unknown):
		e.Setting, e.Problem = setting+"_ca", "the server's certificate is signed by an unknown authority"
		e.Fix = "name the PEM file of the authority that issued it"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		e.Setting = setting + "_ca"
		e.Problem = fmt.Sprintf("the server's certificate is valid from %s to %s only",
			invalid.Cert.NotBefore.UTC().Format(time.RFC3339), invalid.Cert.NotAfter.UTC().Format(time.RFC3339))
		e.Fix = "renew it on the server, or correct this machine's clock"
	case errors.As(err, &otherName):
		e.Setting, e.Problem = setting+"_ca", otherName.Error()
		e.Fix = "connect by a name that the certificate has"
	case errors.As(err, &record):
		return noTLS(setting, err)
	case errors.As(err, &network) && network.Op == "remote error":
		e.Setting = setting + "_cert"
		e.Problem = fmt.Sprintf("the server rejects this client (%v)", network.Err)
		e.Fix = "use a valid certificate of an authority that the server trusts, with its key in " + setting + "_key"
	default:
		return err
	}
	return e
}

// noTLS is the error of a server that does not answer a TLS handshake.
func noTLS(setting string, err error) error {
	return &scoreboard.SetupError{
		Setting: setting, Problem: "the server's port does not use TLS", Err: err,
		Fix: "use its port for TLS, or turn TLS off",
	}
}
