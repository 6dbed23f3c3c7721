package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// UserPrivacy stores the visibility of users.
type UserPrivacy interface {
	Privacy(ctx context.Context, user scoreboard.UserID) (scoreboard.Privacy, error)
	// SetVisibility returns what is then stored. why is the audit entry of an operator, nil
	// for the user.
	SetVisibility(
		ctx context.Context, user scoreboard.UserID, to scoreboard.Visibility, why *scoreboard.AuditEntry,
	) (scoreboard.Privacy, error)
	// HideUser is SetVisibility that shows the user to nobody who did not see the user before.
	HideUser(
		ctx context.Context, user scoreboard.UserID, to scoreboard.Visibility, why *scoreboard.AuditEntry,
	) (scoreboard.Privacy, error)
}

// Hidden knows the visibility of users, without a call of the store.
type Hidden interface {
	Visibility(user scoreboard.UserID) scoreboard.Visibility
}

// privacy shows and changes the visibility of users.
type privacy struct {
	store UserPrivacy
	now   *hiding[scoreboard.Privacy]
}

func newPrivacy(store UserPrivacy, turns *share.Pool) *privacy {
	return &privacy{store, newHiding(turns,
		func(ctx context.Context, user scoreboard.UserID, _ []scoreboard.UserID) (scoreboard.Privacy, error) {
			return store.Privacy(ctx, user)
		})}
}

// hides reports whether a request shows the user to fewer people than now. Repeats do not, so
// between two that do there is always one that counts against the limits.
func (h *privacy) hides(c *gin.Context, caller *auth.Claims) bool {
	user, err := ownOrOperated(c, caller, "the privacy of a user")
	if err != nil {
		return false
	}
	to, err := peekVisibility(c)
	if err != nil || to == scoreboard.VisibilityPublic { // which hides nobody, and must not take turns from who hides
		return false
	}
	return h.now.hides(c.Request.Context(), user, "", func(now scoreboard.Privacy) bool {
		return now.Visibility.Hides(to)
	})
}

// peekVisibility reads the visibility that a request asks for, and leaves the body to its handler.
func peekVisibility(c *gin.Context) (scoreboard.Visibility, error) {
	body, err := readBody(c, maxBody)
	if err != nil {
		return "", err
	}
	c.Request.Body = io.NopCloser(bytes.NewReader(body))
	c.Request.ContentLength = int64(len(body))
	var in wire.PrivacyRequest
	if err := decodeObject(c, body, &in); err != nil {
		return "", err
	}
	return scoreboard.ParseVisibility(in.Visibility)
}

// showPrivacy is GET /v1/users/{user_id}/privacy, for the user and for operators.
func (h *privacy) showPrivacy(c *gin.Context, caller *auth.Claims) error {
	user, err := ownOrOperated(c, caller, "the privacy of a user")
	if err != nil {
		return err
	}
	p, err := h.store.Privacy(c.Request.Context(), user)
	if err != nil {
		return err
	}
	respondPrivacy(c, &p)
	return nil
}

// setPrivacy is PUT /v1/users/{user_id}/privacy. What others have seen cannot be taken back, so
// only the user and administrators show the user to more people.
func (h *privacy) setPrivacy(c *gin.Context, caller *auth.Claims) error {
	user, err := ownOrOperated(c, caller, "the privacy of a user")
	if err != nil {
		return err
	}
	if err := checkReason(c); err != nil {
		return err
	}
	var in wire.PrivacyRequest
	if err := decode(c, &in); err != nil {
		return err
	}
	to, err := scoreboard.ParseVisibility(in.Visibility)
	if err != nil {
		return err
	}
	var why *scoreboard.AuditEntry
	set := h.store.SetVisibility
	if user != caller.User {
		why = newAuditEntry(c, caller, scoreboard.AuditUser(user), c.Query(queryReason))
		why.Detail = auditDetail(in)
		if !caller.Has(auth.ScopeAdmin) {
			set = h.store.HideUser
		}
	}
	p, err := set(c.Request.Context(), user, to, why)
	if err != nil {
		return err
	}
	respondPrivacy(c, &p)
	return nil
}

func respondPrivacy(c *gin.Context, p *scoreboard.Privacy) {
	respond(c, http.StatusOK, wire.Privacy{
		UserID: string(p.User), Visibility: string(p.Visibility), ChangedAt: timePtr(p.ChangedAt),
		Pending: p.Pending,
	})
}

// lookups decides which users a caller may look up.
type lookups struct {
	hidden  Hidden
	friends FriendReads
	log     *slog.Logger
}

// mayName returns which of users the caller may look up by id: all who are public, the caller,
// and those whom friends see and who are the caller's. Servers and operators may look
// everyone up.
func (l *lookups) mayName(
	ctx context.Context, caller *auth.Claims, users []scoreboard.UserID,
) func(scoreboard.UserID) bool {
	everyone := func(scoreboard.UserID) bool { return true }
	if actsForAll(caller) {
		return everyone
	}
	var hidden, toFriends []scoreboard.UserID
	for _, user := range users {
		if user == caller.User {
			continue
		}
		v := l.hidden.Visibility(user)
		if v == scoreboard.VisibilityPublic {
			continue
		}
		hidden = append(hidden, user)
		if v.ToFriends() {
			toFriends = append(toFriends, user)
		}
	}
	if hidden == nil {
		return everyone
	}
	if toFriends != nil && caller.User != "" {
		friends, err := l.friends.Mutual(ctx, caller.User, toFriends)
		if err != nil { // then they stay hidden
			l.log.Debug("friends not read", "err", err)
		}
		hidden = slices.DeleteFunc(hidden, func(u scoreboard.UserID) bool { return slices.Contains(friends, u) })
	}
	return func(user scoreboard.UserID) bool { return !slices.Contains(hidden, user) }
}

// lookUp returns the id under which the caller's look-up of a user is made: the user's, or one
// that nobody has. So a look-up of a hidden user is that of somebody without a score.
func (l *lookups) lookUp(ctx context.Context, caller *auth.Claims, user scoreboard.UserID) scoreboard.UserID {
	if l.mayName(ctx, caller, []scoreboard.UserID{user})(user) {
		return user
	}
	return scoreboard.Nobody(user)
}

// aboutUser returns an error of a look-up as one of the user that was asked for.
func aboutUser(err error, user scoreboard.UserID) error {
	var e *scoreboard.Error
	if !errors.As(err, &e) {
		return err
	}
	out := *e
	out.Message = scoreboard.WithoutNobody(e.Message, user)
	return &out
}

// rowsFor returns rows as the caller may see them: operators see all users.
func rowsFor(caller *auth.Claims, rows []scoreboard.Entry) []scoreboard.Entry {
	if caller.Has(auth.ScopeOperate) {
		return reveal(rows)
	}
	return rows
}

// reveal returns rows under the ids of their users, for operators. Rows of hidden users have no
// profile.
func reveal(rows []scoreboard.Entry) []scoreboard.Entry {
	if !slices.ContainsFunc(rows, func(e scoreboard.Entry) bool { return e.Hidden() }) {
		return rows
	}
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Reveal()
	}
	return rows
}

// revealUser shows a user in rows that are not shared.
func revealUser(rows []scoreboard.Entry, user scoreboard.UserID) {
	for i := range rows {
		if rows[i].ID() == user {
			rows[i].Reveal()
		}
	}
}
