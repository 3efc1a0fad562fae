/*
 * Chat-template marks: strings that a chat template or tokenizer of a model server turns into control tokens, such as <|im_start|>. In untrusted text
 * they could end a message and begin one of the system (prompt injection).
 */

/** Marks between pipes, also DeepSeek's fullwidth ones; of Llama 2 and Mistral; of Gemma; beginning and end of a sequence. */
const MARKS = [
  '<\\\\*[|｜][^|｜<>\\s]{1,64}[|｜]>',
  '\\[\\\\*/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|PREFIX|SUFFIX|MIDDLE)\\]',
  '<\\\\*</?SYS>>',
  '<\\\\*/?(?:start_of_turn|end_of_turn|start_of_image|bos|eos|s|unk|pad|mask)>',
]
export const MARK = new RegExp(MARKS.join('|'), 'giu')

/** Tags of HTML that are marks, too: struck-through text in a file has to stay as it is. */
const STRUCK_TEXT = /<s>([^<>\n]*)<\/s>/giu

/** Escapes the marks with a backslash after their first character: readable, not a control token, and reversible. */
export function escapeTemplateMarks(text: string): string {
  return text.replace(MARK, (mark) => `${mark.slice(0, 1)}\\${mark.slice(1)}`)
}

/** Like `escapeTemplateMarks`, but leaves struck-through text in HTML: for results of tools, which agents have to quote exactly. */
export function escapeTemplateMarksInCode(text: string): string {
  let [result, from] = ['', 0]
  for (const { 0: html, 1: struck = '', index } of text.matchAll(STRUCK_TEXT)) {
    // `<s>[INST] … [/INST]</s>` is a conversation of Llama 2 or Mistral, not HTML.
    if (escapeTemplateMarks(struck) !== struck) continue
    result += escapeTemplateMarks(text.slice(from, index)) + html
    from = index + html.length
  }
  return result + escapeTemplateMarks(text.slice(from))
}
