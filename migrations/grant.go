package migrations

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/text/unicode/norm"
)

// Grant gives the role of the runtime URL, the daemon's postgres.url, what the daemon
// needs in the migrated database at owner, and creates the role with the URL's password
// if it does not exist. It returns the name of the role, "" if both URLs have the same
// role: the daemon then has all rights of the owner.
//
// Grant must run after every Up and before a daemon of the new version starts: each
// migration may add tables. It only adds rights that a daemon of the version before does
// not know, and may run beside one.
func Grant(ctx context.Context, owner, runtime string) (role string, err error) {
	if runtime == "" {
		return "", nil
	}
	from, err := parseURL(owner)
	if err != nil {
		return "", fmt.Errorf("read the URL of the owner: %w", err)
	}
	to, err := parseURL(runtime)
	if err != nil {
		return "", fmt.Errorf("read the URL of the runtime role: %w", err)
	}
	if from.User == to.User {
		return "", nil
	}
	conn, err := pgx.ConnectConfig(ctx, from)
	if err != nil {
		return "", fmt.Errorf("reach the database to grant rights in: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := createRole(ctx, conn, to.User, to.Password); err != nil {
		return "", err
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// Two at once would change the same catalog rows.
		_, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('grant_runtime', 0))`)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `select grant_runtime($1)`, to.User)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("grant rights to role %s: %w", to.User, err)
	}
	return to.User, nil
}

// SQLSTATEs of createRole.
const (
	duplicateObject       = "42710"
	uniqueViolation       = "23505"
	insufficientPrivilege = "42501"
)

// createRole creates a role that can log in, unless it exists.
func createRole(ctx context.Context, conn *pgx.Conn, name, password string) error {
	var exists bool
	err := conn.QueryRow(ctx, `select exists (select from pg_roles where rolname = $1)`, name).Scan(&exists)
	if err != nil {
		return fmt.Errorf("look for role %s: %w", name, err)
	}
	if exists {
		return nil
	}
	create := "create role " + pgx.Identifier{name}.Sanitize() + " login"
	if password != "" {
		verifier, err := scramVerifier(password)
		if err != nil {
			return err
		}
		create += " password '" + verifier + "'" // base64 and digits
	}
	_, err = conn.Exec(ctx, create)
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		switch refused.Code {
		case duplicateObject, uniqueViolation: // another process was faster
			return nil
		case insufficientPrivilege:
			return fmt.Errorf("role %s of postgres.url does not exist, and %s must not create it; have an "+
				"administrator run: create role %s login password '…': %w",
				name, conn.Config().User, pgx.Identifier{name}.Sanitize(), err)
		}
	}
	if err != nil {
		return fmt.Errorf("create role %s: %w", name, err)
	}
	return nil
}

// ambiguous reports whether SASLprep (RFC 4013) of one client, but not of another, maps or
// drops a character of a password: spaces other than U+0020, and what is not visible.
// Clients leave all others in Unicode's form NFKC as they are.
func ambiguous(r rune) bool {
	return !unicode.IsPrint(r) || unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// Iterations and the length of the salt are PostgreSQL's defaults.
const scramIterations, scramSalt = 4096, 16

// scramVerifier returns what PostgreSQL stores for a password (RFC 5803), so that the
// password itself is in no statement, which the server may log.
func scramVerifier(password string) (string, error) {
	if !norm.NFKC.IsNormalString(password) || strings.ContainsFunc(password, ambiguous) {
		return "", errors.New("the password has characters that clients of PostgreSQL encode in different ways; " +
			"choose another, or have an administrator create the role")
	}
	salt := make([]byte, scramSalt)
	_, _ = rand.Read(salt) // never fails
	salted, err := pbkdf2.Key(sha256.New, password, salt, scramIterations, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("derive a key from the password: %w", err)
	}
	sign := func(text string) []byte {
		h := hmac.New(sha256.New, salted)
		_, _ = h.Write([]byte(text))
		return h.Sum(nil)
	}
	stored := sha256.Sum256(sign("Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", scramIterations, encode(salt), encode(stored[:]),
		encode(sign("Server Key"))), nil
}
