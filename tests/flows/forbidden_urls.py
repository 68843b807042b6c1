# ruff: noqa: RUF001 - letters that look like others are what is tried
"""Addresses and tricks that lead inside. `{p}` is the port of a server that listens on 127.0.0.1 and ::1."""

from __future__ import annotations

# What shows in the text, and is refused when it is saved and when it is used.
SHOWN = (
    # this machine
    "http://127.0.0.1:{p}/", "http://127.0.0.53:{p}/", "http://127.255.255.254:{p}/", "http://0.0.0.0:{p}/",
    "http://0.1.2.3:{p}/", "http://[::1]:{p}/", "http://[::]:{p}/", "http://[0:0:0:0:0:0:0:1]:{p}/",
    # its names
    "http://localhost:{p}/", "http://LOCALHOST:{p}/", "http://localhost.:{p}/", "http://a.localhost:{p}/",
    "http://localhost.localdomain:{p}/", "http://ip6-localhost:{p}/", "http://ip6-loopback:{p}/",
    # private, shared, link-local
    "http://10.0.0.1:{p}/", "http://172.16.0.1:{p}/", "http://172.31.255.254:{p}/", "http://192.168.0.1:{p}/",
    "http://100.64.0.1:{p}/", "http://169.254.1.1:{p}/", "http://[fe80::1]:{p}/", "http://[fc00::1]:{p}/",
    "http://[fd12:3456:789a::1]:{p}/", "http://[fec0::1]:{p}/",
    # where clouds tell their machines secrets
    "http://169.254.169.254/latest/meta-data/", "http://169.254.170.2/v2/credentials", "http://[fd00:ec2::254]/",
    "http://100.100.100.200/", "http://168.63.129.16/", "http://192.0.0.192/", "http://metadata.google.internal/",
    "http://metadata.google.internal./", "http://metadata/", "http://METADATA.goog/", "http://instance-data/",
    "http://metadata.azure.internal/",
    # nobody's
    "http://224.0.0.1:{p}/", "http://239.255.255.250:{p}/", "http://240.0.0.1:{p}/", "http://255.255.255.255:{p}/",
    "http://192.0.0.8:{p}/", "http://192.0.2.1:{p}/", "http://198.18.0.1:{p}/", "http://198.51.100.1:{p}/",
    "http://203.0.113.1:{p}/", "http://192.88.99.1:{p}/", "http://[ff02::1]:{p}/", "http://[2001:db8::1]:{p}/",
    "http://[100::1]:{p}/", "http://[3fff::1]:{p}/", "http://[5f00::1]:{p}/", "http://[4000::1]:{p}/",
    # an IPv4 address within an IPv6 one
    "http://[::ffff:127.0.0.1]:{p}/", "http://[::ffff:7f00:1]:{p}/", "http://[::ffff:169.254.169.254]/",
    "http://[::127.0.0.1]:{p}/", "http://[::ffff:0:127.0.0.1]:{p}/", "http://[64:ff9b::127.0.0.1]:{p}/",
    "http://[64:ff9b::a9fe:a9fe]/", "http://[64:ff9b:1::10.0.0.1]:{p}/", "http://[2002:7f00:1::]:{p}/",
    "http://[2002:a00:1::1]:{p}/", "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]:{p}/",
    # spellings of 127.0.0.1 and 169.254.169.254
    "http://2130706433:{p}/", "http://0x7f000001:{p}/", "http://0x7f.0.0.1:{p}/", "http://0177.0.0.1:{p}/",
    "http://017700000001:{p}/", "http://127.1:{p}/", "http://127.0.1:{p}/", "http://0:{p}/",
    "http://127.000.000.001:{p}/", "http://0x7f.1:{p}/", "http://2852039166/", "http://0xa9fea9fe/",
    "http://127.0.0.1.:{p}/", "http://2130706433.:{p}/",
    # letters and digits that are folded
    "http://１２７.０.０.１:{p}/", "http://①②⑦.⓪.⓪.①:{p}/", "http://127。0。0。1:{p}/", "http://127．0．0．1:{p}/",
    "http://127｡0｡0｡1:{p}/", "http://ⓛocalhost:{p}/", "http://ｌｏｃａｌｈｏｓｔ:{p}/", "http://lo\u00adcalhost:{p}/",
    # percent signs, zones, backslashes, white space
    "http://127.0.0.%31:{p}/", "http://%6c%6fcalhost:{p}/", "http://127%2e0%2e0%2e1:{p}/", "http://[fe80::1%25eth0]:{p}/",
    "http://[fe80::1%eth0]:{p}/", "http://[::1%25lo]:{p}/", "http://127.0.0.1:{p}\\@example.com/",
    "http://example.com\\@127.0.0.1:{p}/", "http:\\\\127.0.0.1:{p}/", " http://127.0.0.1:{p}/", "http://127.0.0.1\t:{p}/",
    "http://127.0.0.1:{p}/\r\nX: y", "http://127.0.0.1\x00.example.com:{p}/",
    # somebody before the host, something behind it
    "http://user:word@127.0.0.1:{p}/", "http://example.com@127.0.0.1:{p}/", "http://example.com:80@127.0.0.1:{p}/",
    "http://127.0.0.1:{p}#@example.com/", "http://127.0.0.1:{p}?@example.com/", "http://@127.0.0.1:{p}/",
    # ports
    "http://127.0.0.1:0/", "http://127.0.0.1:65536/", "http://127.0.0.1:-1/", "http://127.0.0.1:{p}:80/",
    "http://127.0.0.1:８０/", "http://[::1/", "http://[127.0.0.1]:{p}/",
    # no way to call
    "file:///etc/passwd", "file://127.0.0.1/etc/passwd", "gopher://127.0.0.1:{p}/_x", "ftp://127.0.0.1:{p}/",
    "dict://127.0.0.1:{p}/x", "ldap://127.0.0.1:{p}/", "tftp://127.0.0.1:{p}/x", "jar:http://127.0.0.1:{p}!/",
    "data:text/plain,x", "javascript:alert(1)", "ws://127.0.0.1:{p}/", "unix:///var/run/docker.sock",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/", "//127.0.0.1:{p}/", "127.0.0.1:{p}", "http:127.0.0.1:{p}/",
    "http:/127.0.0.1:{p}/", "http:///127.0.0.1:{p}/", "http://", "https://:{p}/",
)  # fmt: skip

# What only a name server tells: `NAMES` is what it answers. Refused when it is used.
NAMES = {
    "loopback.test": ("127.0.0.1",),
    "loopback6.test": ("::1",),
    "private.test": ("10.0.0.1",),
    "metadata.test": ("169.254.169.254",),
    "mapped.test": ("::ffff:127.0.0.1",),
    "nat64.test": ("64:ff9b::7f00:1",),
    "six-to-four.test": ("2002:7f00:1::1",),
    # A public address first, the one of this machine after it.
    "both.test": ("93.184.215.14", "127.0.0.1"),
    "both-families.test": ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", "127.0.0.1"),
    # An alias (CNAME) of localhost: what is asked for is answered with the other's address.
    "alias.test": ("127.0.0.1",),
    "unspecified.test": ("0.0.0.0",),  # noqa: S104 - an answer, nothing is bound to it
    "broadcast.test": ("255.255.255.255",),
    "127.0.0.1.nip.test": ("127.0.0.1",),
    "xn--bcher-kva.test": ("127.0.0.1",),
}
ANSWERED = tuple(f"{scheme}://{name}:{{p}}/" for name in NAMES for scheme in ("http", "https"))

# Lead to the internet, as far as the text shows.
PUBLIC = (
    "https://api.example.com/v1", "http://93.184.215.14/", "https://example.com:8443/mcp?x=@y", "https://[2606:4700::1111]/",
    "https://bücher.example/", "https://a_b.example.com/", "https://3com.example/", "https://1password.com/",
    "https://example.com./", "http://[64:ff9b::8.8.8.8]/", "https://localhost.example.com/", "https://0x7f.example/",
)  # fmt: skip
