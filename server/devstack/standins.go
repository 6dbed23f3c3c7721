package devstack

import (
	"crypto/rand"
	"fmt"
	"net"
	"strconv"

	"github.com/alicebob/miniredis/v2"
	"github.com/twmb/franz-go/pkg/kfake"
)

// miniRedis starts the stand-in for Redis.
func miniRedis() (stop func(), url string, err error) {
	m := miniredis.NewMiniRedis()
	password := rand.Text()
	m.RequireAuth(password)
	m.ClockTTL(true) // otherwise keys never expire
	if err := m.StartAddr("127.0.0.1:0"); err != nil {
		return nil, "", fmt.Errorf("start the stand-in for Redis: %w", err)
	}
	_, port, err := net.SplitHostPort(m.Addr())
	if err != nil {
		m.Close()
		return nil, "", fmt.Errorf("parse the address of the stand-in for Redis: %w", err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		m.Close()
		return nil, "", fmt.Errorf("parse the address of the stand-in for Redis: %w", err)
	}
	return m.Close, redisURL(number, password), nil
}

// FakeKafka starts the stand-in for a Kafka broker in this process, with its data in
// dir, or in memory if dir is empty. It does not lock dir.
//
// It trims only topics with their own retention, by default every hour; 30 seconds
// keep a development directory small.
func FakeKafka(dir string) (stop func(), brokers []string, err error) {
	options := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.BrokerConfigs(map[string]string{
			"log.cleaner.backoff.ms": "30000",
			"log.retention.ms":       "86400000",
		}),
	}
	if dir != "" {
		options = append(options, kfake.DataDir(dir))
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		return nil, nil, fmt.Errorf("start the stand-in for Kafka: %w", err)
	}
	return cluster.Close, cluster.ListenAddrs(), nil
}
