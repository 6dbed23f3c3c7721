package api

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/buildinfo"
	"github.com/scoreboard/scoreboard/internal/test/openapi"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

type object = openapi.Object

// everywhere lists the error codes of every route.
var everywhere = []wire.Code{
	wire.CodeInvalidRequest, wire.CodeUnauthorized, wire.CodeForbidden,
	wire.CodeRateLimited, wire.CodeOverloaded,
	wire.CodeUnavailable, wire.CodeInternal,
}

// maker generates the document from the operations, their types and the comments on
// those types.
type maker struct {
	*openapi.Maker
	failures object                // the responses of errors, by name
	examples object                // of errors, by code
	query    map[string]parameters // by route
	security map[string][]object   // by route: alternatives; none where any token opens it
}

func makeDocument(t *testing.T) []byte {
	t.Helper()
	m := &maker{
		Maker: &openapi.Maker{
			T: t, Schemas: object{}, Meanings: fieldMeanings,
			Comments: openapi.Comments(t, "../../../client/wire/*.go"),
			Answers:  answerBounds,
		},
		failures: object{}, examples: object{}, query: map[string]parameters{}, security: map[string][]object{},
	}
	for _, r := range everything(&trail{}).handlers.routes() {
		m.query[r.method+" "+r.path] = r.query
		if alternatives := securityOf(r); alternatives != nil {
			m.security[r.method+" "+r.path] = alternatives
		}
	}
	paths := object{}
	for _, o := range operations() {
		method, path, _ := strings.Cut(o.route, " ")
		path = openapi.InBraces(path)
		methods, ok := paths[path].(object)
		if !ok {
			methods = object{}
			paths[path] = methods
		}
		methods[strings.ToLower(method)] = m.operation(o, path)
	}
	m.SchemaOf(reflect.TypeFor[wire.Error]())
	m.CheckMeanings()
	codes := slices.Sorted(maps.Keys(statuses))
	for name := range descriptions {
		isRoute := func(o operation) bool { return o.route == name }
		if m.query[name] == nil && !slices.ContainsFunc(operations(), isRoute) {
			t.Errorf("descriptions has %s, which is no operation", name)
		}
	}
	m.Schemas["Error"].(object)["properties"].(object)["error_code"].(object)["enum"] = codes
	document := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "scoreboard", "version": buildinfo.Release,
			"license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "A real-time leaderboard that counts every event exactly once.\n\n" +
				"Requests need a bearer token. The security of an operation names the scope that its token needs; " +
				"score:admin implies score:operate. Writes of scores are also signed with a key, either in the body " +
				"(the field scheme) or in the headers X-Scoreboard-Key, X-Scoreboard-Timestamp and " +
				"X-Scoreboard-Signature (the header scheme; see /docs/signing). Durations are Go durations, " +
				"such as 500ms, 30s or 24h. Every response has the headers X-Request-Id and traceparent. The body " +
				"of an error is an Error; responses with status 429 or 503 have the header Retry-After. Fields " +
				"are in snake_case, " +
				"times are RFC 3339 in UTC, and scores are integers.",
		},
		"servers": []object{{"url": "/"}},
		"tags": []object{
			{"name": "scores", "description": "Submit increments."},
			{"name": "leaderboard", "description": "Read standings."},
			{"name": "teams", "description": "Put users into teams, which boards of teams rank."},
			{"name": "friends", "description": "Ask users to be friends, and rank them."},
			{"name": "leagues", "description": "Read divisions, cohorts, and who moves at the end of a period."},
			{"name": "rewards", "description": "Say what the winners of a period get, and claim it once."},
			{"name": "tournaments", "description": "Join and leave periods of boards that require it."},
			{"name": "users", "description": "Read and change the data of one user."},
			{"name": "realtime", "description": "Follow a board live."},
			{"name": "boards", "description": "Manage boards."},
			{"name": "admin", "description": "Operate the server. Requires the scope score:operate or score:admin, " +
				"as each operation says."},
			{"name": "pages", "description": "Show boards of the setting web.boards to everyone, without a token."},
			{"name": "about", "description": "Read this document."},
		},
		"paths":    paths,
		"security": []object{{"token": []string{}}},
		"components": object{
			"schemas": m.Schemas, "responses": m.failures, "examples": m.examples,
			"securitySchemes": object{
				"token": object{"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
			},
		},
	}
	return openapi.Marshal(t, document)
}

// checkQuery fails unless exactly the parameters of the route table are described.
func (m *maker) checkQuery(o operation) {
	m.T.Helper()
	var described parameters
	for _, q := range o.query {
		described = append(described, q.name)
	}
	accepted := slices.Clone(m.query[o.route])
	if slices.Equal(accepted, anyParameters) {
		accepted = nil // a page, which ignores them
	}
	slices.Sort(described)
	slices.Sort(accepted)
	if !slices.Equal(described, accepted) {
		m.T.Errorf("%s accepts the parameters %q, and %q are described", o.route, accepted, described)
	}
}

func (m *maker) operation(o operation, path string) object {
	method, route, _ := strings.Cut(o.route, " ")
	op := object{"tags": []string{o.tag}, "summary": o.summary, "operationId": operationID(method, path)}
	about, listed := descriptions[o.route]
	if (o.more != "") == listed {
		m.T.Errorf("%s: the table of operations or descriptions says more than the summary, and not both", o.route)
	}
	op["description"] = o.more + about
	var parameters []object
	for part := range strings.SplitSeq(route, "/") {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			about, known := pathParams[name]
			if !known {
				m.T.Errorf("%s: pathParams lacks :%s", o.route, name)
			}
			schema := object{"type": "string"}
			if name == "id" {
				schema = object{"type": "integer", "format": "int64"}
			}
			maps.Copy(schema, m.boundsOf(pathBounds, o.route, " ", name))
			parameters = append(parameters, object{
				"name": name, "in": "path", "required": true, "description": openapi.Sentence(about),
				"schema":  schema,
				"example": examplePath[name],
			})
		}
	}
	if slices.Contains(m.query[o.route], queryReason) {
		o.query = append(o.query, param{queryReason, "string", "reason, for the audit trail"})
	}
	m.checkQuery(o)
	for _, q := range o.query {
		schema := object{"type": q.kind}
		if q.kind == "time" {
			schema = object{"type": "string", "format": "date-time"}
		}
		if q.kind == "integer" {
			schema["format"] = "int64"
		}
		maps.Copy(schema, m.boundsOf(queryBounds, o.route, " ", q.name))
		p := object{
			"name": q.name, "in": "query", "description": openapi.Sentence(q.about), "schema": schema,
		}
		if slices.Contains(requiredQuery, o.route+" "+q.name) {
			p["required"] = true
		} else {
			p["allowEmptyValue"] = true
		}
		parameters = append(parameters, p)
	}
	if parameters != nil {
		op["parameters"] = parameters
	}
	if o.body != nil {
		op["requestBody"] = object{"required": true, "content": m.content(o.route, o.body)}
		m.restrict(reflect.TypeOf(o.body))
	}
	if security, known := m.security[o.route]; known {
		op["security"] = security
	}
	answers := object{}
	for status, v := range o.answers {
		answer := object{"description": http.StatusText(status)}
		if v != nil {
			answer["content"] = m.content(o.route, v)
		}
		answers[strconv.Itoa(status)] = answer
	}
	codes := map[int][]string{}
	common := everywhere
	if o.tag == "about" {
		common = []wire.Code{wire.CodeInvalidRequest, wire.CodeRateLimited}
	}
	for _, code := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(o.codes, common)))) {
		codes[statuses[code]] = append(codes[statuses[code]], string(code))
	}
	for status, names := range codes {
		answers[strconv.Itoa(status)] = m.failure(names)
	}
	m.failures["header_too_large"] = openapi.HeaderTooLarge()
	answers["431"] = object{"$ref": "#/components/responses/header_too_large"}
	op["responses"] = answers
	return op
}

// securityOf returns which tokens open a route, as alternatives; nil for any.
func securityOf(r route) []object {
	switch {
	case r.scope == noToken:
		return []object{}
	case r.scope == listedBoard:
		return []object{{}, {"token": []string{}}}
	case r.requires() == "":
		return nil
	case r.operators:
		return []object{{"token": []string{r.scope}}, {"token": []string{auth.ScopeOperate}}}
	}
	return []object{{"token": []string{r.scope}}}
}

func operationID(method, path string) string {
	id := strings.ToLower(method)
	for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return strings.ContainsRune("/{}-._", r) }) {
		if part != "v1" {
			id += strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return id
}

// failure returns a reference to the response with one of these error codes.
func (m *maker) failure(codes []string) object {
	name := strings.Join(codes, "_or_")
	if m.failures[name] == nil {
		shown := object{}
		for _, code := range codes {
			shown[code] = object{"$ref": "#/components/examples/" + code}
			m.examples[code] = object{"value": exampleError(wire.Code(code))}
		}
		m.failures[name] = object{
			"description": strings.Join(codes, ", "),
			"content": object{"application/json": object{
				"schema": object{"$ref": "#/components/schemas/Error"}, "examples": shown,
			}},
		}
	}
	return object{"$ref": "#/components/responses/" + name}
}

// content is a body by its media type, with its example.
func (m *maker) content(route string, v any) object {
	kind, body := "application/json", object{}
	example := exampleOf(route, v)
	switch v := v.(type) {
	case media:
		kind, body["schema"] = string(v), object{"type": "string"}
	case ndjson:
		kind, body["schema"] = "application/x-ndjson", m.SchemaOf(reflect.TypeOf(v.of))
	case stream:
		kind, body["schema"] = openapi.EventStream, openapi.Event(m.SchemaOf(reflect.TypeOf(v.of)))
		message, isMessage := example.(wire.Message)
		if !isMessage {
			m.T.Errorf("%s: the example is a %T, want a message", route, example)
		}
		example = openapi.ExampleEvent(m.T, fmt.Sprintf("%d:%d", message.Epoch, message.Version), message.Type, message)
	case oneOf:
		var schemas []object
		var names []string
		for _, one := range v {
			schemas = append(schemas, m.SchemaOf(reflect.TypeOf(one)))
			names = append(names, reflect.TypeOf(one).Name())
		}
		// Generators of clients name the type by its title.
		body["schema"] = object{"oneOf": schemas, "title": strings.Join(names, "Or")}
	default:
		body["schema"] = m.SchemaOf(reflect.TypeOf(v))
	}
	if several, ok := example.(named); ok {
		values := object{}
		for name, value := range several {
			values[name] = object{"value": value}
		}
		body["examples"] = values
	} else if example != nil {
		body["example"] = example
	}
	return object{kind: body}
}
