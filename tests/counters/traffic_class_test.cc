// What addresses, ports and names are taken for.
// Must not resolve anything.
#include "counters/traffic_class.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>
#include <string>

namespace chokepoint::counters {
namespace {

using trace::TrafficClass;

Address At(const std::string& text) {
  sockaddr_storage storage{};
  auto* in = reinterpret_cast<sockaddr_in*>(&storage);
  auto* in6 = reinterpret_cast<sockaddr_in6*>(&storage);
  if (inet_pton(AF_INET, text.c_str(), &in->sin_addr) == 1) {
    storage.ss_family = AF_INET;
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &in6->sin6_addr), 1) << text;
    storage.ss_family = AF_INET6;
  }
  return AddressOf(reinterpret_cast<const sockaddr*>(&storage), nullptr);
}

struct Case {
  const char* address;
  std::uint16_t port;
  const char* name;
  TrafficClass expected;
};

class TrafficClassOf : public testing::TestWithParam<Case> {};

TEST_P(TrafficClassOf, Address) {
  const Case& c = GetParam();
  TrafficClassifier classifier;
  classifier.AddOwn(At("10.0.0.5"));
  classifier.AddPeer(At("10.0.0.5"));
  classifier.AddPeer(At("10.0.0.6"));
  classifier.AddOwn(At("10.9.0.1"));
  EXPECT_EQ(classifier.Classify(At(c.address), c.port, c.name), c.expected)
      << c.address << ":" << c.port << " " << c.name;
}

INSTANTIATE_TEST_SUITE_P(
    All, TrafficClassOf,
    testing::Values(Case{"127.0.0.1", 5000, "", TrafficClass::kLocal},
                    Case{"::1", 1, "", TrafficClass::kLocal},
                    Case{"10.0.0.6", 40000, "", TrafficClass::kJobPeer},
                    Case{"::ffff:10.0.0.6", 40000, "", TrafficClass::kJobPeer},
                    Case{"10.0.0.5", 40000, "", TrafficClass::kJobPeer},
                    Case{"10.9.0.1", 40000, "", TrafficClass::kLocal},
                    Case{"10.1.2.3", 2049, "", TrafficClass::kStorage},
                    Case{"172.16.0.9", 988, "", TrafficClass::kStorage},
                    Case{"192.168.1.1", 6801, "", TrafficClass::kStorage},
                    Case{"10.1.2.3", 443, "s3.us-east-1.amazonaws.com", TrafficClass::kStorage},
                    Case{"10.1.2.3", 443, "", TrafficClass::kSite},
                    Case{"172.32.0.1", 443, "", TrafficClass::kInternet},
                    Case{"172.31.255.255", 443, "", TrafficClass::kSite},
                    Case{"100.64.0.1", 80, "", TrafficClass::kSite},
                    Case{"100.128.0.1", 80, "", TrafficClass::kInternet},
                    Case{"169.254.169.254", 80, "", TrafficClass::kSite},
                    Case{"fd00:ec2::254", 80, "", TrafficClass::kSite},
                    Case{"fe80::1", 80, "", TrafficClass::kSite},
                    Case{"2600::1", 443, "huggingface.co", TrafficClass::kInternet},
                    Case{"52.216.1.1", 443, "s3.amazonaws.com", TrafficClass::kInternet}));

TEST(Address, ParsesDottedText) {
  EXPECT_EQ(ParseIpv4("10.1.2.3"), At("10.1.2.3"));
  for (const char* bad : {"", "10.1.2", "10.1.2.3.4", "10.1.2.256", "a.b.c.d", "10..2.3"}) {
    EXPECT_EQ(ParseIpv4(bad).family, 0) << bad;
  }
}

TEST(Address, OtherFamiliesAreNone) {
  sockaddr_storage storage{};
  storage.ss_family = AF_UNIX;
  EXPECT_EQ(AddressOf(reinterpret_cast<const sockaddr*>(&storage), nullptr).family, 0);
  EXPECT_EQ(TrafficClassifier().Classify(Address{}, 443), TrafficClass::kUnknown);
}

TEST(TrafficClassifier, SetsAreBounded) {
  TrafficClassifier classifier;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    Address address;
    address.family = 4;
    std::memcpy(address.bytes, &i, 4);
    classifier.AddOwn(address);
    classifier.AddPeer(address);
  }
  EXPECT_TRUE(classifier.IsPeer(Address{4, {0, 0, 0, 0}}));
}

}  // namespace
}  // namespace chokepoint::counters
