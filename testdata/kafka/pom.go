// Package kafka holds the list of jars that make an Apache Kafka broker.
package kafka

import _ "embed"

// POM is the Maven project whose dependencies are the broker.
//
//go:embed pom.xml
var POM []byte
