"""Which addresses may be reached, whatever their spelling."""

from ipaddress import ip_address

import pytest

from liyagent.core.addresses import ForbiddenAddress, check_addresses, is_forbidden


@pytest.mark.promise("ruling 35")
@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200",
        "168.63.129.16", "192.0.0.192", "0.1.2.3", "224.0.0.1", "239.255.255.250", "240.0.0.1",
        "255.255.255.255", "198.18.0.1", "192.0.2.1", "203.0.113.9",
        "::1", "::", "fe80::1", "fe80::1%1", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "ff0e::1",
        "2001:db8::1", "100::1", "5f00::1",
        "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::10.0.0.1",
        "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8",
        "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:7f00:1::1", "2001:0:808:808::f5ff:fffe",
    ],
)  # fmt: skip
def test_an_address_inside_a_network_is_forbidden(address: str) -> None:
    assert is_forbidden(ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "1.1.1.1",
        "2606:4700::1111",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2002:808:808::1",
    ],
)
def test_an_address_of_the_internet_is_not(address: str) -> None:
    assert not is_forbidden(ip_address(address))


def test_the_refusal_names_host_address_and_the_setting_that_lifts_it() -> None:
    with pytest.raises(ForbiddenAddress) as refused:
        check_addresses("intra.example", ["10.0.0.7"], allowed=())
    for part in ("intra.example", "10.0.0.7", "LIYAGENT_ALLOWED_PRIVATE_HOSTS"):
        assert part in str(refused.value)


def test_one_forbidden_address_among_others_refuses_the_host() -> None:
    with pytest.raises(ForbiddenAddress):
        check_addresses("mixed.example", ["8.8.8.8", "127.0.0.1"], allowed=())


@pytest.mark.parametrize(
    "entry", ["Intra.Example", "intra.example.", "10.0.0.7", "10.0.0.0/8", "[10.0.0.7]"]
)
def test_a_listed_name_address_or_network_may_be_reached(entry: str) -> None:
    found = check_addresses("intra.example", ["10.0.0.7", "10.0.0.7"], allowed=[entry])
    assert found == ["10.0.0.7"]


@pytest.mark.parametrize(
    "entry", ["example", "other.intra.example", "10.0.0.0/30", "nonsense/8", "*"]
)
def test_another_entry_lifts_nothing(entry: str) -> None:
    with pytest.raises(ForbiddenAddress):
        check_addresses("intra.example", ["10.0.0.7"], allowed=[entry])
