// Package redisurl opens Redis by a URL: one server, a cluster, or the primary that
// sentinels name.
//
//	redis://[USER:PASSWORD@]HOST:PORT[/DATABASE]
//	redis+cluster://[USER:PASSWORD@]HOST:PORT,HOST:PORT,…
//	redis+sentinel://[USER:PASSWORD@]HOST:PORT,HOST:PORT,…/PRIMARY
//
// The schemes rediss, rediss+cluster and rediss+sentinel use TLS. Special characters
// in names and passwords are percent-encoded. Parameters are those of
// redis.ParseURL; sentinels have sentinel_username and sentinel_password besides.
package redisurl

import (
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Options say how to connect. A TLSConfig without a server name verifies each server
// by the host that is connected to.
type Options struct{ redis.UniversalOptions }

// Errors never quote the URL: a password with an unencoded special character can end
// up in any part of it.
var (
	errInvalid = errors.New("the Redis URL is invalid: want redis://USER:PASSWORD@HOST:PORT/DATABASE, " +
		"redis+cluster://USER:PASSWORD@HOST:PORT,HOST:PORT or " +
		"redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/PRIMARY, " +
		"with special characters percent-encoded, and known parameters")
	errDatabase = errors.New("the Redis URL names a database, but a cluster has only database 0: " +
		"remove the database after the last host")
	errPrimary = errors.New("the Redis URL names no primary: " +
		"append / and the name that the sentinels monitor, as in redis+sentinel://HOST:PORT/PRIMARY")
	errHosts = errors.New("the Redis URL has several hosts: use redis+cluster:// or redis+sentinel://")
	errHost  = errors.New("the Redis URL has an invalid host: want HOST or HOST:PORT, separated by commas")
)

const (
	serverPort   = "6379"
	sentinelPort = "26379"
)

// Parse parses a URL. Its errors do not contain any part of it.
func Parse(text string) (*Options, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	kind, secure := strings.CutPrefix(scheme, "rediss")
	if !secure {
		var ok bool
		if kind, ok = strings.CutPrefix(scheme, "redis"); !ok && scheme != "unix" {
			return nil, errInvalid
		}
	}
	var o *Options
	var err error
	switch kind {
	case "", "unix":
		return parseServer(text)
	case "+cluster":
		o, err = parseServers(rest, serverPort)
		if err == nil && o.DB != 0 {
			err = errDatabase
		}
		if err == nil {
			o.IsClusterMode = true
		}
	case "+sentinel":
		o, err = parseServers(rest, sentinelPort)
		if err == nil && o.MasterName == "" {
			err = errPrimary
		}
	default:
		err = errInvalid
	}
	if err != nil {
		return nil, err
	}
	if secure {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return o, nil
}

// parseServer parses the URL of one server.
func parseServer(text string) (*Options, error) {
	o, err := redis.ParseURL(text)
	if err != nil {
		return nil, errInvalid
	}
	if strings.Contains(o.Addr, ",") {
		return nil, errHosts
	}
	if o.Network != "unix" {
		if o.Addr, err = parseHost(o.Addr, serverPort); err != nil {
			return nil, err
		}
	}
	all := universal(o)
	all.Addrs, all.Username, all.Password, all.DB = []string{o.Addr}, o.Username, o.Password, o.DB
	all.TLSConfig = o.TLSConfig
	return all, nil
}

// parseServers parses what follows the scheme of a URL with several hosts. net/url
// rejects more than one port. The path of a cluster is a database, and that of
// sentinels the name of a primary: which one it is shows by what it sets.
func parseServers(rest, port string) (*Options, error) {
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	parameters, err := url.ParseQuery(query)
	if err != nil || strings.ContainsAny(path, "/#") || strings.Contains(query, "#") {
		return nil, errInvalid
	}
	sentinelUser, sentinelPassword := parameters.Get("sentinel_username"), parameters.Get("sentinel_password")
	if port == sentinelPort {
		parameters.Del("sentinel_username")
		parameters.Del("sentinel_password")
	}
	known, err := redis.ParseURL("redis://localhost?" + parameters.Encode())
	if err != nil {
		return nil, errInvalid
	}
	o := universal(known)
	o.DB = known.DB
	if path, err = url.PathUnescape(path); err != nil {
		return nil, errInvalid
	}
	switch {
	case port == sentinelPort:
		o.MasterName, o.SentinelUsername, o.SentinelPassword = path, sentinelUser, sentinelPassword
	case path != "" && path != "0":
		return nil, errDatabase
	}
	hosts := authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		hosts = authority[at+1:]
		user, password, _ := strings.Cut(authority[:at], ":")
		var userErr, passwordErr error
		o.Username, userErr = url.PathUnescape(user)
		o.Password, passwordErr = url.PathUnescape(password)
		if userErr != nil || passwordErr != nil || strings.ContainsAny(authority[:at], "@#") {
			return nil, errInvalid
		}
	}
	for host := range strings.SplitSeq(hosts, ",") {
		address, err := parseHost(host, port)
		if err != nil {
			return nil, err
		}
		o.Addrs = append(o.Addrs, address)
	}
	return o, nil
}

// parseHost returns "host:port" of a host, with a default port.
func parseHost(text, port string) (string, error) {
	host, given, err := net.SplitHostPort(text)
	if err != nil { // without a port, or malformed
		host, given, err = net.SplitHostPort(text + ":" + port)
	}
	if n, notNumber := strconv.ParseUint(given, 10, 16); err != nil || notNumber != nil || n == 0 {
		return "", errHost
	}
	if strings.Contains(host, ":") && net.ParseIP(host) == nil || host == "" || strings.ContainsAny(host, " %#@\\[]") {
		return "", errHost
	}
	return net.JoinHostPort(host, given), nil
}

// universal copies what the parameters of a URL can set.
func universal(o *redis.Options) *Options {
	return &Options{redis.UniversalOptions{
		Protocol: o.Protocol, ClientName: o.ClientName,
		MaxRetries: o.MaxRetries, MinRetryBackoff: o.MinRetryBackoff, MaxRetryBackoff: o.MaxRetryBackoff,
		DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
		PoolFIFO: o.PoolFIFO, PoolSize: o.PoolSize, PoolTimeout: o.PoolTimeout, MinIdleConns: o.MinIdleConns,
		MaxIdleConns: o.MaxIdleConns, MaxActiveConns: o.MaxActiveConns, MaxConcurrentDials: o.MaxConcurrentDials,
		PipelinePoolSize: o.PipelinePoolSize, PipelineReadBufferSize: o.PipelineReadBufferSize,
		PipelineWriteBufferSize: o.PipelineWriteBufferSize, ConnMaxIdleTime: o.ConnMaxIdleTime,
		ConnMaxLifetime: o.ConnMaxLifetime, ConnMaxLifetimeJitter: o.ConnMaxLifetimeJitter,
	}}
}

// maxRedirects is how often a command is repeated in a cluster, with waits of 8 ms and
// then twice the last one: while a slot is moved, or a map of the slots is old. Dialling is
// not repeated beneath that.
const maxRedirects = 5

// slotsInterval is how long a client of a cluster uses a map of the slots. A server that
// died cannot redirect to its successor.
const slotsInterval = time.Second

// replicaTTL is how long a client of sentinels keeps a connection to a replica, unless the
// URL says less. After a failover the client would otherwise keep its connections to the
// replica that was promoted, and use no other replica again.
const replicaTTL = 5 * time.Second

// Open returns a client, which the caller closes. It connects when it is used. In a
// cluster it retries what a server answers while a slot is being moved to another one.
func (o *Options) Open() redis.UniversalClient { return o.open(false) }

// OpenReplica returns a client that sends reads to replicas: of each primary of a
// cluster, of the primary that sentinels name, or to the one server. Where a primary has
// none, a client of a cluster or of sentinels uses the primary.
func (o *Options) OpenReplica() redis.UniversalClient { return o.open(true) }

func (o *Options) open(replica bool) redis.UniversalClient {
	switch {
	case o.MasterName != "":
		f := o.Failover()
		f.DialerRetries, f.ReplicaOnly = 1, replica // the next sentinel may answer
		if replica && (f.ConnMaxLifetime <= 0 || f.ConnMaxLifetime > replicaTTL) {
			f.ConnMaxLifetime, f.ConnMaxLifetimeJitter = replicaTTL, replicaTTL/5 // not all at once
		}
		return redis.NewFailoverClient(f)
	case o.IsClusterMode:
		c := o.Cluster()
		c.ReadOnly = replica
		c.ClusterStateReloadInterval, c.MaxRedirects, c.DialerRetries = slotsInterval, maxRedirects, 1
		client := redis.NewClusterClient(c)
		client.AddHook(retryTryAgain{client})
		return client
	default:
		return redis.NewClient(o.Simple())
	}
}
