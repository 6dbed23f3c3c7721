package console

import (
	"net/http"
	"net/url"
	"strings"
)

// Operation is a route of the API for operators or administrators.
type Operation struct {
	Action string // of its audit entries; "": not audited. Routes with one action require one scope
	Method string
	Path   string // with :parameters
	Scope  string
}

// operations are those that this node serves: by action, and by method and path.
type operations map[string][]Operation

func newOperations(list []Operation) operations {
	out := make(operations)
	for _, o := range list {
		route := o.Method + " " + o.Path
		out[route] = append(out[route], o)
		if o.Action != "" {
			out[o.Action] = append(out[o.Action], o)
		}
	}
	return out
}

// target returns the method and path of an operation on what ids name. Of several routes, it
// is the first with as many parameters.
func (o operations) target(name string, ids []string) (method, path string, err error) {
	for _, route := range o[name] {
		if strings.Count(route.Path, ":") != len(ids) {
			continue
		}
		segments, next := strings.Split(route.Path, "/"), 0
		for i, s := range segments {
			if strings.HasPrefix(s, ":") {
				segments[i] = url.PathEscape(ids[next])
				next++
			}
		}
		return route.Method, strings.Join(segments, "/"), nil
	}
	return "", "", &failure{
		Status: http.StatusNotFound, Code: "not_found", Message: "This node does not serve " + name + ".",
		Next: "Open the console of a node that has the role api.",
	}
}
