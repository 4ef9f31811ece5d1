// SPDX-License-Identifier: Apache-2.0

// endless - one object as large as asked for, in a bucket that takes no room on any disk.
//
//	endless LISTEN SIZE           for example: endless 127.0.0.1:9001 5368709120
//
// Every block of 64 KiB begins with its number and is zero behind it. GET makes the bytes up, in any
// range; an upload in parts is read, compared with what the object must be, and thrown away. Complete
// succeeds only when the parts, in order, are the whole object. A manifest.json is taken and forgotten. It
// speaks just the S3 that a copy of one large object needs.
package main

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	block = 64 * 1024
	etag  = `"endless-1"`
)

type part struct{ first, size int64 } // offset of its first byte

type bucket struct {
	size  int64
	mutex sync.Mutex
	parts map[int]part
}

// What the object holds at an offset: the rest of the block there.
func fill(buffer []byte, offset int64) []byte {
	var head [8]byte
	binary.LittleEndian.PutUint64(head[:], uint64(offset/block))
	for i := range buffer {
		buffer[i] = 0
	}
	inside := offset % block
	if inside < 8 {
		copy(buffer, head[inside:])
	}
	return buffer[:block-inside]
}

func (b *bucket) get(w http.ResponseWriter, r *http.Request) {
	first, end := int64(0), b.size
	w.Header().Set("ETag", etag)
	w.Header().Set("Last-Modified", time.Unix(1700000000, 0).UTC().Format(http.TimeFormat))
	if match := r.Header.Get("If-Match"); match != "" && match != etag {
		w.WriteHeader(412)
		return
	}
	status := 200
	if asked := strings.TrimPrefix(r.Header.Get("Range"), "bytes="); asked != "" {
		from, to, _ := strings.Cut(asked, "-")
		first, _ = strconv.ParseInt(from, 10, 64)
		if to != "" {
			end, _ = strconv.ParseInt(to, 10, 64)
			end++
		}
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, end-1, b.size))
		status = 206
	}
	w.Header().Set("Content-Length", fmt.Sprint(end-first))
	w.WriteHeader(status)
	buffer := make([]byte, block)
	for r.Method == "GET" && first < end {
		piece := fill(buffer, first)
		if int64(len(piece)) > end-first {
			piece = piece[:end-first]
		}
		if _, err := w.Write(piece); err != nil {
			return
		}
		first += int64(len(piece))
	}
}

func refuse(w http.ResponseWriter, code, format string, more ...any) {
	w.WriteHeader(400)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, fmt.Sprintf(format, more...))
}

// A part begins with a block, whose number says where it belongs.
func (b *bucket) put(w http.ResponseWriter, r *http.Request, number int) {
	crc := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	buffer, wanted := make([]byte, block), make([]byte, block)
	first, size := int64(-1), int64(0)
	for {
		n, err := io.ReadFull(r.Body, buffer)
		if n > 0 && first < 0 && n >= 8 {
			first = int64(binary.LittleEndian.Uint64(buffer)) * block
		}
		if n > 0 && string(fill(wanted, first+size)[:n]) != string(buffer[:n]) {
			refuse(w, "InvalidPart", "part %d is wrong behind %d bytes", number, size)
			return
		}
		crc.Write(buffer[:n])
		size += int64(n)
		if err != nil {
			break
		}
	}
	sum := base64.StdEncoding.EncodeToString(crc.Sum(nil))
	if size != r.ContentLength || r.Header.Get("x-amz-checksum-crc32c") != sum {
		refuse(w, "BadDigest", "part %d did not arrive", number)
		return
	}
	b.mutex.Lock()
	b.parts[number] = part{first, size}
	b.mutex.Unlock()
	w.Header().Set("ETag", fmt.Sprintf(`"part-%d"`, number))
	w.Header().Set("x-amz-checksum-crc32c", sum)
}

func (b *bucket) complete(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Part []struct{ PartNumber int }
	}
	xml.NewDecoder(r.Body).Decode(&asked)
	b.mutex.Lock()
	defer b.mutex.Unlock()
	at := int64(0)
	for _, each := range asked.Part {
		if b.parts[each.PartNumber].first != at {
			refuse(w, "InvalidPart", "part %d is not what comes at %d", each.PartNumber, at)
			return
		}
		at += b.parts[each.PartNumber].size
	}
	if at != b.size {
		refuse(w, "InvalidPart", "%d bytes are not the object", at)
		return
	}
	io.WriteString(w, "<CompleteMultipartUploadResult><ETag>"+etag+"</ETag></CompleteMultipartUploadResult>")
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	number, _ := strconv.Atoi(query.Get("partNumber"))
	switch {
	case r.Method == "PUT" && number > 0:
		b.put(w, r, number)
	case r.Method == "PUT" && strings.HasSuffix(r.URL.Path, "/manifest.json"):
		io.Copy(io.Discard, r.Body)
		w.Header().Set("ETag", etag)
	case r.Method == "POST" && query.Has("uploads"):
		w.Header().Set("x-amz-checksum-algorithm", r.Header.Get("x-amz-checksum-algorithm"))
		io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
	case r.Method == "POST":
		b.complete(w, r)
	case r.Method == "DELETE":
		w.WriteHeader(204)
	case r.Method == "GET" && query.Has("list-type"):
		io.WriteString(w, "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")
	case strings.HasSuffix(r.URL.Path, "/huge"):
		b.get(w, r)
	default:
		w.WriteHeader(404)
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: endless LISTEN SIZE")
		os.Exit(64)
	}
	size, err := strconv.ParseInt(os.Args[2], 10, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(64)
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(69)
	}
	fmt.Println(listener.Addr())
	http.Serve(listener, &bucket{size: size, parts: map[int]part{}})
}
