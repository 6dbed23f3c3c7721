package redisurl_test

import (
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/internal/redisurl"
)

func TestParse(t *testing.T) {
	t.Parallel()
	type want struct {
		addrs, user, password, primary string
		sentinelUser, sentinelPassword string
		db, pool                       int
		cluster, tls                   bool
		err                            string
	}
	for url, want := range map[string]want{
		"redis://h:1":                     {addrs: "h:1"},
		"redis://h":                       {addrs: "h:6379"},
		"redis://:pass@h:1/3":             {addrs: "h:1", password: "pass", db: 3},
		"rediss://u:p%40%2F@h:1":          {addrs: "h:1", user: "u", password: "p@/", tls: true},
		"redis://h:1?pool_size=7":         {addrs: "h:1", pool: 7},
		"redis://[::1]:1":                 {addrs: "[::1]:1"},
		"unix:///run/redis.sock":          {addrs: "/run/redis.sock"},
		"redis+cluster://h1:1,h2:2":       {addrs: "h1:1 h2:2", cluster: true},
		"redis+cluster://h1,[::1]:2,h3/":  {addrs: "h1:6379 [::1]:2 h3:6379", cluster: true},
		"redis+cluster://h/0?pool_size=7": {addrs: "h:6379", cluster: true, pool: 7},
		"redis+cluster://u:p%3A%40%2C%2F@h:1": {
			addrs: "h:1", user: "u", password: "p:@,/", cluster: true,
		},
		"rediss+cluster://:p@h1:1,h2:2":  {addrs: "h1:1 h2:2", password: "p", cluster: true, tls: true},
		"redis+sentinel://h1,h2:2/main":  {addrs: "h1:26379 h2:2", primary: "main"},
		"rediss+sentinel://h1/main?db=2": {addrs: "h1:26379", primary: "main", db: 2, tls: true},
		"redis+sentinel://u:p@h/main?sentinel_username=su&sentinel_password=s%26p": {
			addrs: "h:26379", user: "u", password: "p", primary: "main", sentinelUser: "su", sentinelPassword: "s&p",
		},

		"":                                      {err: "is invalid"},
		"h:1":                                   {err: "is invalid"},
		"http://h:1":                            {err: "is invalid"},
		"redis+ring://h:1":                      {err: "is invalid"},
		"redis://]":                             {err: "invalid host"},
		"redis://h1:1,h2:2":                     {err: "use redis+cluster://"},
		"redis+cluster://":                      {err: "invalid host"},
		"redis+cluster://h1:1,":                 {err: "invalid host"},
		"redis+cluster://h1:1,,h2:2":            {err: "invalid host"},
		"redis+cluster://h:0":                   {err: "invalid host"},
		"redis+cluster://h:65536":               {err: "invalid host"},
		"redis+cluster://h:port":                {err: "invalid host"},
		"redis+cluster://a:b:1":                 {err: "invalid host"},
		"redis+cluster://:p@ss@h:1":             {err: "is invalid"},
		"redis+cluster://:p%zz@h:1":             {err: "is invalid"},
		"redis+cluster://h:1?nothing=1":         {err: "is invalid"},
		"redis+cluster://h:1?sentinel_password": {err: "is invalid"},
		"redis+cluster://h:1/1":                 {err: "only database 0"},
		"redis+cluster://h:1?db=1":              {err: "only database 0"},
		"redis+cluster://h:1/0/0":               {err: "is invalid"},
		"redis+sentinel://h:1":                  {err: "names no primary"},
		"redis+sentinel://h:1/":                 {err: "names no primary"},
		"redis+sentinel://h:1/a/b":              {err: "is invalid"},
	} {
		o, err := redisurl.Parse(url)
		if want.err != "" {
			if err == nil || !strings.Contains(err.Error(), want.err) {
				t.Errorf("%s: got %v, want %q", url, err, want.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		got := struct {
			addrs, user, password, primary string
			sentinelUser, sentinelPassword string
			db, pool                       int
			cluster, tls                   bool
			err                            string
		}{
			strings.Join(o.Addrs, " "), o.Username, o.Password, o.MasterName, o.SentinelUsername, o.SentinelPassword,
			o.DB, o.PoolSize, o.IsClusterMode, o.TLSConfig != nil, "",
		}
		if got != want {
			t.Errorf("%s: got %+v, want %+v", url, got, want)
		}
	}
}

// The kind of the client follows from the scheme alone, also with one host.
func TestOpen(t *testing.T) {
	t.Parallel()
	for url, cluster := range map[string]bool{
		"redis://h": false, "redis+cluster://h": true, "redis+sentinel://h,h2/main": false,
	} {
		o, err := redisurl.Parse(url)
		if err != nil {
			t.Fatal(err)
		}
		client := o.Open()
		if _, ok := client.(*redis.ClusterClient); ok != cluster {
			t.Errorf("%s: got a %T", url, client)
		}
		_ = client.Close()
	}
}

// What Parse accepts has addresses that can be dialled, and no error quotes a password.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"redis://%s@h:1/0", "rediss+cluster://u:%s@h1:1,h2:2", "redis+sentinel://:%s@h1/main?sentinel_password=%s",
		"redis+cluster://u:%s@[::1]:7000,[::1%%25lo]:1", "redis+cluster://%s", "redis+sentinel://h/%s?db=%s",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const secret = "PA55SECR3T"
		text = strings.ReplaceAll(text, "%s", secret)
		o, err := redisurl.Parse(text)
		if err != nil {
			if strings.Contains(err.Error(), secret) {
				t.Fatalf("%v", err)
			}
			return
		}
		if len(o.Addrs) == 0 {
			t.Fatal("no address")
		}
		if o.IsClusterMode && o.DB != 0 {
			t.Errorf("database %d in a cluster", o.DB)
		}
		if strings.HasPrefix(text, "unix:") {
			return
		}
		for _, a := range o.Addrs {
			if _, _, err := net.SplitHostPort(a); err != nil {
				t.Errorf("address %q: %v", a, err)
			}
		}
		if slices.Contains(o.Addrs, ":") {
			t.Error("empty address")
		}
	})
}
