// tokenizer.json as Hugging Face's tokenizers reads it (byte-level BPE after a regex split), and
// the rank file as tiktoken reads it.

#include <openssl/evp.h>

#include <array>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "corpus/tokenizer_tables.h"

namespace windtunnel::corpus {
namespace fs = std::filesystem;
using base::Error;
using base::Json;
namespace {

/// GPT-2's alphabet: printable Latin-1 bytes stand for themselves, the other bytes, in order, for
/// the code points from 256.
std::array<std::string, 256> byte_alphabet() {
  std::array<std::string, 256> letters;
  uint32_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool is_printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    const uint32_t code = is_printable ? byte : next++;
    std::string& letter = letters[byte];
    if (code < 0x80) {
      letter = static_cast<char>(code);
    } else {
      letter = {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
    }
  }
  return letters;
}

std::string spell(std::string_view bytes) {
  static const std::array<std::string, 256> letters = byte_alphabet();
  std::string text;
  for (const char byte : bytes) text += letters[static_cast<uint8_t>(byte)];
  return text;
}

/// The reverse of spell. Errors: Error if `text` has a letter outside the alphabet.
std::string unspell(std::string_view text) {
  static const std::unordered_map<std::string, char> bytes = [] {
    std::unordered_map<std::string, char> map;
    const auto letters = byte_alphabet();
    for (size_t byte = 0; byte < 256; ++byte) map[letters[byte]] = static_cast<char>(byte);
    return map;
  }();
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t length = static_cast<uint8_t>(text[at]) < 0x80 ? 1 : 2;
    const auto found = bytes.find(std::string(text.substr(at, length)));
    if (found == bytes.end()) throw Error("token " + Json(text).dump() + " is not byte-level");
    result += found->second;
    at += length;
  }
  return result;
}

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(length));
  return text;
}

/// Everything but vocabulary, merges and special tokens is the same for all our tokenizers.
Json frame() {
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", false},
                           {"trim_offsets", true},
                           {"use_regex", false}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"normalizer", nullptr},
          {"pre_tokenizer",
           {{"type", "Sequence"},
            {"pretokenizers", Json::array({{{"type", "Split"},
                                            {"pattern", {{"Regex", kSplitPattern}}},
                                            {"behavior", "Isolated"},
                                            {"invert", false}},
                                           byte_level})}}},
          {"post_processor", nullptr},
          {"decoder", byte_level},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", false}}}};
}

std::vector<std::string> merge_lines(const MergeTable& table) {
  std::vector<std::string> lines;
  for (const auto& [left, right] : table.merges()) {
    lines.push_back(spell(table.tokens()[static_cast<size_t>(left)]) + " " +
                    spell(table.tokens()[static_cast<size_t>(right)]));
  }
  return lines;
}

}  // namespace

void Tokenizer::save(const fs::path& tokenizer_json) const {
  const std::vector<std::string>& tokens = tables_->merges.tokens();
  Json json = frame();
  Json vocabulary = Json::object();
  std::string ranks;
  for (size_t id = 0; id < tokens.size(); ++id) {
    vocabulary[spell(tokens[id])] = id;
    ranks += base64(tokens[id]) + " " + std::to_string(id) + "\n";
  }
  json["model"]["vocab"] = std::move(vocabulary);
  json["model"]["merges"] = merge_lines(tables_->merges);
  json["added_tokens"] = Json::array();
  for (size_t i = 0; i < tables_->special.size(); ++i) {
    json["added_tokens"].push_back({{"id", tokens.size() + i},
                                    {"content", tables_->special[i]},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", true}});
  }
  base::write_file_atomic(fs::path(tokenizer_json).replace_extension(".tiktoken"), ranks);
  base::write_json(tokenizer_json, json);
}

Tokenizer Tokenizer::load(const fs::path& tokenizer_json) {
  Json json = base::read_json(tokenizer_json);
  try {
    Json rest = json;
    rest.erase("added_tokens");
    rest.at("model").erase("vocab");
    rest.at("model").erase("merges");
    if (rest != frame()) {
      throw Error("it is not a byte-level BPE with this program's split pattern");
    }
    const Json& vocabulary = json.at("model").at("vocab");
    std::vector<std::string> tokens(vocabulary.size());
    for (const auto& [text, id] : vocabulary.items()) {
      const auto index = id.get<size_t>();
      if (index >= tokens.size() || !tokens[index].empty()) {
        throw Error("token " + Json(text).dump() + " has id " + std::to_string(index) +
                    "; ids must be 0, 1, 2 ... without gaps");
      }
      tokens[index] = unspell(text);
    }
    std::vector<std::string> special;
    for (const Json& token : json.at("added_tokens")) {
      if (token.at("id").get<size_t>() != tokens.size() + special.size()) {
        throw Error("special token ids must follow the merged tokens");
      }
      special.push_back(token.at("content"));
    }
    if (special.empty()) throw Error("it has no begin-of-document token");
    Tokenizer tokenizer = from_ranks(std::move(tokens), std::move(special));
    if (json.at("model").at("merges") != Json(merge_lines(tokenizer.tables_->merges))) {
      throw Error("its merges disagree with its vocabulary");
    }
    return tokenizer;
  } catch (const Error& error) {
    throw Error(tokenizer_json.string() + " cannot be used: " + error.what());
  } catch (const Json::exception& error) {
    throw Error(tokenizer_json.string() + " is not a tokenizer: " + error.what());
  }
}

}  // namespace windtunnel::corpus
