// Package program is what the programs of all generations have in common: a connection or a listener for a target,
// and lines of JSON on standard output.
package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// Client is a command that a client knows; it gets the words after its name.
type Client func(ctx context.Context, conn *grpc.ClientConn, words []string) error

// Run does what the command line says: a client's command, or `server`.
func Run(agent string, clients map[string]Client, server func(*grpc.Server) func(command []string)) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 2 {
		fail(errors.New("name a command"))
	}
	name, words := os.Args[1], os.Args[2:]
	if name == "server" {
		fail(serve(ctx, server))
		return
	}
	command, known := clients[name]
	if !known {
		fail(fmt.Errorf("no command %q", name))
	}
	conn, err := grpc.NewClient(
		os.Getenv("NVIDIA_DEVICE_API_TARGET"),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUserAgent(agent),
	)
	fail(err)
	fail(command(ctx, conn, words))
}

// Print writes one line of JSON.
func Print(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

// Word is the word at a place, or nothing.
func Word(words []string, place int) string {
	if place < len(words) {
		return words[place]
	}
	return ""
}

// fail tells an error as a line, and ends the program with it; nothing happens where there is none.
func fail(err error) {
	if err == nil || errors.Is(err, io.EOF) || status.Code(err) == codes.Canceled {
		return
	}
	Print(map[string]string{"error": status.Code(err).String(), "message": status.Convert(err).Message()})
	os.Exit(1)
}

func serve(ctx context.Context, register func(*grpc.Server) func([]string)) error {
	path := strings.TrimPrefix(os.Getenv("NVIDIA_DEVICE_API_TARGET"), "unix://")
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	command := register(server)
	go func() { // each line of standard input is a command; its end is the end of the server
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			command(strings.Fields(lines.Text()))
			Print(map[string]string{"done": lines.Text()})
		}
		server.Stop()
	}()
	go func() {
		<-ctx.Done()
		server.Stop()
	}()
	Print(map[string]string{"listening": path})
	return server.Serve(listener)
}
