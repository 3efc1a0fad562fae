import type { SourceFile } from '../support/source-file.ts'
import { commentsIn, lineNumberAt } from '../support/syntax-tree.ts'

export type CommentText = { path: string; line: number; text: string }

const clauseOpeners = /^(What|Whatever|Who|Whoever|Those|Nobody)\b/
const questionWords = /^(What|Whatever|Who|Whoever|Whom|Whose|Which|Where|When|Whether|Why|How|Those|Nobody)\b/

export function beginsWithClause({ text }: CommentText): boolean {
  return clauseOpeners.test(text)
}

export function beginsWithQuestionWord({ text }: CommentText): boolean {
  return questionWords.test(text)
}

/** Comments without their marks; `//` lines that follow each other are one comment. */
export function commentTexts(file: SourceFile): CommentText[] {
  let end = -1
  return commentsIn(file).flatMap((comment) => {
    const continues = comment.type === 'Line' && end >= 0 && /^\n?[ \t]*$/.test(file.source.slice(end, comment.start))
    end = comment.type === 'Line' ? comment.end : -1
    if (continues) return []
    return [
      { path: file.path, line: lineNumberAt(file.source, comment.start), text: comment.value.replace(/^[\s*]+/, '') },
    ]
  })
}
