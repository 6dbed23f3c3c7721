package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	repository "github.com/scoreboard/scoreboard"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/http/docs"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Dialect is another API in front of the same operations: its handlers translate
// requests and responses, and call what the native handlers call, through a Call.
type Dialect struct {
	Name   string
	Host   string // of its requests, in lower case; "" for every host
	Base   string // in front of the paths of its routes, such as /delta; "" for none
	Routes []DialectRoute
	Board  scoreboard.BoardID // where its scores count
	// Actions makes actions count on Board that are started for an action_id without a
	// board.
	Actions bool
	// SignatureOptional accepts writes without the header signature. Otherwise each needs
	// one. Neither depends on the setting auth.signature.
	SignatureOptional bool
	// UnsignedByRules has writes without it count on the boards whose rule matches them,
	// too, as signed ones do.
	UnsignedByRules bool
	// Open says that routes which are Public need no token, whatever the setting
	// reads.anonymous is.
	Open bool
	// Document describes the routes: OpenAPI, with one server, whose URL Mount sets, as it
	// sets x-board, the board.
	Document []byte
	// Attestation is the form of the attestations that writes may have; nil: no write has
	// one.
	Attestation *auth.AttestationForm
	// TraceKey is under which key log lines about its requests have the id of the trace, beside
	// that of all lines; "" for none.
	TraceKey string
	// Error returns the status and the body of an error response, which is marshalled to
	// JSON; status is the native one.
	Error func(status int, e *wire.Error) (int, any)
}

// DialectRoute is one of its routes.
type DialectRoute struct {
	Method, Path string // after Base; parameters are named as in the native routes
	Access       Access
	// Public reads need no token according to the specification.
	Public bool
	// Query are the parameters that it accepts; nil ignores all that it does not know.
	Query []string
	// Handle answers a request, or returns why it cannot. nil for a stream.
	Handle func(*Call) error
	Stream *DialectStream // that it opens; with AccessStream only
}

// DialectStream is a stream of a dialect. Its clients send nothing.
type DialectStream struct {
	Board     scoreboard.BoardID
	Format    *realtime.Format
	Rows      int  // 0 is the setting reads.top_n
	WebSocket bool // otherwise it is an event stream
	Token     QueryToken
}

// QueryToken is what a stream accepts as the parameter token of its query, beside the
// header Authorization.
type QueryToken int

// The tokens.
const (
	TicketInQuery      QueryToken = iota // a join ticket of the native API
	BearerInQuery                        // the bearer token itself
	StreamTokenInQuery                   // one of Call.StreamToken
)

// Access is which callers may use a route of a dialect, and which limit counts its requests.
type Access int

// The accesses, each as that of a native route.
const (
	_            Access = iota
	AccessWrite         // as POST /v1/scores/increment
	AccessTop           // as GET /v1/leaderboard/top
	AccessUser          // as GET /v1/users/{user_id}/rank
	AccessMe            // as GET /v1/leaderboard/me
	AccessTicket        // as GET /v1/realtime/token
	AccessStream        // as GET /v1/realtime/leaderboard
)

// dialectRoutes makes the routes of dialects.
type dialectRoutes struct {
	limits     *Limits
	tokens     *auth.Tokens
	streams    *streams // nil: there are none
	operations *dialectOperations
}

// dialectRoute is a dialect's route as a row of the route table.
func (h *dialectRoutes) dialectRoute(d *Dialect, r *DialectRoute) route {
	out := route{
		method: r.Method, path: d.Base + r.Path, query: r.Query, scope: optionalToken, rate: &h.limits.Rank,
		audit: unaudited, data: showsBoards, dialect: d, public: d.Open && r.Public,
	}
	if r.Query == nil {
		out.query = anyParameters
	}
	switch r.Access {
	case AccessWrite:
		out.scope, out.rate, out.data = anyToken, &h.limits.Updates, showsUser
		out.vouched = d.Attestation != nil && d.Attestation.Vouches
	case AccessTop:
		out.rate = &h.limits.Top
	case AccessUser:
	case AccessMe:
		out.scope = anyToken
	case AccessTicket:
		out.scope, out.rate = anyToken, &h.limits.Tickets
	case AccessStream:
		if h.streams == nil {
			return misrouted(out.path, d)
		}
		out.rate = &h.limits.Joins
		out.stream, out.handle = h.dialectStream(r.Stream)
		return out
	default:
		panic("api: route " + r.Path + " of dialect " + d.Name + " has no access")
	}
	handle := func(c *gin.Context, caller *auth.Claims, rejection error) error {
		return r.Handle(&Call{Caller: caller, operations: h.operations, gin: c, dialect: d, rejection: rejection})
	}
	out.handle = func(c *gin.Context, caller *auth.Claims) error { return handle(c, caller, nil) }
	if r.Access != AccessWrite && r.Access != AccessTicket {
		out.stale = handle
	}
	return out
}

// dialectStream returns what a route opens, and its handler.
func (h *dialectRoutes) dialectStream(s *DialectStream) (*liveStream, handler) {
	redeem := map[QueryToken]func(*gin.Context, string) (*auth.Claims, error){
		TicketInQuery: func(c *gin.Context, ticket string) (*auth.Claims, error) {
			return h.streams.tickets.redeemTicket(c, ticket, s.Board)
		},
		BearerInQuery: func(c *gin.Context, token string) (*auth.Claims, error) {
			return h.tokens.Verify(c.Request.Context(), token)
		},
		StreamTokenInQuery: func(c *gin.Context, token string) (*auth.Claims, error) {
			return h.operations.streamTokens.Redeem(c.Request.Context(), token, s.Board, address(c.Request))
		},
	}[s.Token]
	return &liveStream{s.Format, s.WebSocket, redeem}, func(c *gin.Context, caller *auth.Claims) error {
		if s.WebSocket && !h.streams.webSockets.Accepts(c.Request) {
			return scoreboard.Invalid("", "this endpoint requires a WebSocket upgrade")
		}
		v := realtime.Viewer{
			CanSee: h.operations.access.boardCheck(caller), Board: s.Board, Limit: s.Rows,
			Format: s.Format,
		}
		if ticket := c.Query(tokenParameter); ticket != "" && s.Token == TicketInQuery && !isUpgrade(c) {
			v.Hold = h.streams.tickets.holdTicket(strings.Clone(ticket))
		}
		return h.streams.follow(c, caller, s.WebSocket, &v)
	}
}

// serves reports whether this process has what a route needs.
func (h *dialectRoutes) serves(r *DialectRoute) bool {
	switch r.Access {
	case AccessWrite:
		return h.operations.submitter != nil && h.operations.reads != nil
	case AccessTicket:
		return h.operations.streamTokens != nil
	case AccessStream:
		return true
	default:
	}
	return h.operations.reads != nil
}

// Mount adds the routes of dialects, before the API serves. It fails if two routes
// claim one path, and names both.
func (a *API) Mount(dialects ...*Dialect) error {
	owners := make(map[string]string) // of "host METHOD pattern", in words
	for _, r := range a.handlers.routes() {
		owners[claim("", r.method, r.path)] = "the native " + r.method + " " + r.path
	}
	references := []docs.API{reference}
	for _, d := range dialects {
		if d.Actions && a.handlers.actions != nil {
			a.handlers.actions.boundBoard = d.Board
		}
		document, err := a.mountDocument(d)
		if err != nil {
			return err
		}
		references = append(references, docs.API{Dialect: d.Name, Path: DocumentPath(d.Name), Document: document})
		for i := range d.Routes {
			r := &d.Routes[i]
			if !a.dialects.serves(r) {
				continue
			}
			row := a.dialects.dialectRoute(d, r)
			words := fmt.Sprintf("%s %s of the dialect %s", row.method, d.Host+row.path, d.Name)
			key := claim(d.Host, row.method, row.path)
			if other := owners[key]; other != "" {
				return fmt.Errorf("%s and %s claim one path: change dialect.%s.base", words, other, d.Name)
			}
			owners[key] = words
			if err := a.mount(row); err != nil {
				return fmt.Errorf("%s cannot be served beside the other routes: %w", words, err)
			}
		}
	}
	if len(dialects) > 0 {
		a.handlers.site = docs.New(repository.Docs, references...)
	}
	return nil
}

// DocumentPath is the path of a dialect's OpenAPI document, while it is enabled.
func DocumentPath(dialect string) string { return dialectDocuments + dialect + ".json" }

// mountDocument adds the route of a dialect's document, on the dialect's host and on every
// one without routes of its own, and returns the document. It needs no token, because it
// contains no data.
func (a *API) mountDocument(d *Dialect) ([]byte, error) {
	url := d.Base
	if d.Host != "" {
		url = "//" + d.Host + d.Base
	} else if url == "" {
		url = "/"
	}
	var document map[string]any
	decoder := json.NewDecoder(bytes.NewReader(d.Document))
	decoder.UseNumber()
	if err := decoder.Decode(&document); err != nil {
		return nil, fmt.Errorf("read the document of the dialect %s: %w", d.Name, err)
	}
	document["servers"] = []map[string]string{{"url": url}}
	document["x-board"] = d.Board
	body, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("write the document of the dialect %s: %w", d.Name, err)
	}
	r := documentRoute(DocumentPath(d.Name), body)
	a.register(a.engine, r)
	if d.Host != "" {
		a.register(a.hostEngine(d.Host), r)
	}
	return body, nil
}

// claim identifies the requests of a route: names of parameters make no difference.
func claim(host, method, path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, ":") {
			parts[i] = ":"
		}
	}
	return host + " " + method + " " + strings.Join(parts, "/")
}

// mount adds a route to the engine of its host.
func (a *API) mount(r route) (err error) {
	defer func() {
		if p := recover(); p != nil { // gin panics where parameters of two paths differ in name only
			err = fmt.Errorf("%v", p)
		}
	}()
	a.register(a.hostEngine(r.dialect.Host), r)
	if a.failures.claimed == nil {
		a.failures.claimed = make(map[claimedPath]*Dialect)
	}
	a.failures.claimed[claimedPath{r.dialect.Host, r.path}] = r.dialect
	return nil
}

// hostEngine returns the routes of a host, to which routes can be added; "" is every host
// without routes of its own.
func (a *API) hostEngine(host string) *gin.Engine {
	if host == "" {
		return a.engine
	}
	if a.hosts == nil {
		a.hosts = make(map[string]*gin.Engine)
	}
	if a.hosts[host] == nil {
		a.hosts[host] = a.newEngine()
	}
	return a.hosts[host]
}

// claimedPath is a path of a dialect on a host, "" for any.
type claimedPath struct{ host, path string }

// engineOf returns the routes of a request's host.
func (a *API) engineOf(r *http.Request) *gin.Engine {
	if len(a.hosts) == 0 {
		return a.engine
	}
	for _, host := range hostsOf(r) {
		if e := a.hosts[host]; e != nil {
			return e
		}
	}
	return a.engine
}

// hostsOf returns the hosts that a dialect of a request may be mounted at: with the
// port, without it.
func hostsOf(r *http.Request) [2]string {
	host := strings.ToLower(r.Host)
	name, _, _ := strings.Cut(host, ":")
	return [2]string{host, name}
}

// dialectOf returns the dialect in whose shape to answer a request, nil for the native
// one. A request that no route matches, such as one with another method, is answered by
// the dialect that has its path, if the path has no parameters.
func (f *failures) dialectOf(c *gin.Context) *Dialect {
	if d, ok := c.Get(keyDialect); ok {
		return d.(*Dialect) //nolint:forcetypeassert // serve sets it
	}
	if len(f.claimed) == 0 {
		return nil
	}
	for _, host := range hostsOf(c.Request) {
		if d := f.claimed[claimedPath{host, c.Request.URL.Path}]; d != nil {
			return d
		}
	}
	return f.claimed[claimedPath{"", c.Request.URL.Path}]
}
