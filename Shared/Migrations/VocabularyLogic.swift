internal import AdCore

/// The numbers with public meaning, as the database knows them: made from the program's vocabularies, before every other
/// function and view. Rows for people, and for each vocabulary `a` two functions that the planner puts constants in the
/// place of: `vocabulary.a('word')` is a number, `vocabulary.a_name(number)` a word. A word that there is not is an error.
enum VocabularyLogic {
  static let file = Logic.File(
    name: "00_vocabulary.sql", sql: ([table] + Vocabularies.all.map(functions) + facts).joined(separator: "\n"))

  private static var table: String {
    let rows = Vocabularies.all.flatMap(\.words).map { word in
      let rule = word.rule.map(quoted) ?? "NULL"
      return
        "(\(quoted(word.vocabulary)), \(word.number), \(quoted(word.name)), \(rule), \(quoted(word.meaning)))"
    }
    return """
      CREATE SCHEMA IF NOT EXISTS vocabulary;
      CREATE TABLE IF NOT EXISTS vocabulary.word (
        vocabulary text NOT NULL,
        number smallint NOT NULL,
        name text NOT NULL,
        rule text,
        meaning text NOT NULL,
        PRIMARY KEY (vocabulary, number),
        UNIQUE (vocabulary, name)
      );
      DELETE FROM vocabulary.word;
      INSERT INTO vocabulary.word (vocabulary, number, name, rule, meaning) VALUES
        \(rows.joined(separator: ",\n  "));
      """
  }

  private static func functions(_ vocabulary: (name: String, words: [VocabularyWord])) -> String {
    let numbers = vocabulary.words.map { "WHEN \(quoted($0.name)) THEN \($0.number)::smallint" }
    let names = vocabulary.words.map { "WHEN \($0.number) THEN \(quoted($0.name))" }
    return """
      CREATE OR REPLACE FUNCTION vocabulary.\(vocabulary.name)(word text) RETURNS smallint
      LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
        SELECT CASE word \(numbers.joined(separator: " "))
          ELSE ('no word of \(vocabulary.name): ' || word)::smallint END
      $function$;
      CREATE OR REPLACE FUNCTION vocabulary.\(vocabulary.name)_name(number smallint) RETURNS text
      LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
        SELECT CASE number \(names.joined(separator: " ")) END
      $function$;
      """
  }

  /// What follows from a reason alone.
  private static var facts: [String] {
    let errors = DecisionReason.allCases.compactMap { reason in
      reason.error.map { "WHEN \(reason.number) THEN \($0.number)::smallint" }
    }
    let free = ClickVerdict.free.map { "WHEN \($0.number) THEN \(ChargeFate.free($0).number)::smallint" }
    let withoutKey = DecisionReason.allCases.filter(\.isWithoutAppKey)
    return [
      """
      CREATE OR REPLACE FUNCTION vocabulary.error_of_decision(reason smallint) RETURNS smallint
      LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
        SELECT CASE reason \(errors.joined(separator: " ")) END
      $function$;
      """,
      """
      CREATE OR REPLACE FUNCTION ad_selection.is_without_app_key(reason smallint) RETURNS boolean
      LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
        SELECT reason IN (\(withoutKey.numbers))
      $function$;
      """,
      // The fate of a click by its verdict; NULL for one that is paid for.
      """
      CREATE OR REPLACE FUNCTION vocabulary.free_fate(verdict smallint) RETURNS smallint
      LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
        SELECT CASE verdict \(free.joined(separator: " ")) END
      $function$;
      """,
    ]
  }

  private static func quoted(_ text: String) -> String { "'\(text.replacing("'", with: "''"))'" }
}
