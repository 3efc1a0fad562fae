import fc from 'fast-check'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, test } from 'vitest'
import { Markdown } from './markdown.tsx'
import { parseMarkdown } from './parse-markdown.ts'

const render = (text: string) => renderToStaticMarkup(createElement(Markdown, { text }))

describe('Markdown', () => {
  test('WR30 headings, lists, check lists, code, tables and emphasis are formatted', () => {
    const html = render(
      [
        '## Cause',
        'An index was **dropped** by `0142`, *not* ~~renamed~~.',
        '1. one',
        '   - inner',
        '2. two',
        '- [x] done',
        '```sql',
        'select **1**',
        '```',
        '| step | ms |',
        '|---|--:|',
        '| a | 4 |',
        '> said',
      ].join('\n'),
    )
    expect(html).toContain('<p class="markdown-heading markdown-heading-2">Cause</p>')
    expect(html).toContain('<strong>dropped</strong> by <code>0142</code>, <em>not</em> <s>renamed</s>')
    expect(html).toContain('<ol start="1"><li><p>one</p><ul><li><p>inner</p></li></ul></li><li><p>two</p></li></ol>')
    expect(html).toContain('☑ </span><p>done</p>')
    expect(html).toContain('<pre class="code">select **1**</pre>')
    expect(html).toContain('<td>a</td><td class="right">4</td>')
    expect(html).toContain('<blockquote><p>said</p></blockquote>')
  })

  test('WR30 patterns of files, products, names with underscores and marks without an end stay as they are', () => {
    for (const text of [
      'src/**/x/** and **',
      '2 * 3 * 4',
      'snake_case_name',
      '`open',
      '[a](b',
      '#1',
      '**',
      '__init__.py',
    ])
      expect(render(text)).toBe(`<div class="markdown"><p>${text}</p></div>`)
  })

  test('WR30 HTML is text, and images and links are text with their address: nothing is loaded or followed', () => {
    const html = render(
      '<img src=x onerror=alert(1)> ![pixel](https://evil.test/?q=secret) [click](javascript:alert(1))',
    )
    expect(html).not.toMatch(/<img|<a |href|src="/)
    expect(html).toContain('&lt;img')
    expect(html).toContain('(https://evil.test/?q=secret)')
    expect(html).toContain('(javascript:alert')
    expect(render('user\u202egnp.exe \u001b[31m')).toContain('⟨U+202E⟩')
  })

  test('WR30 no text is lost: every word of any text is shown', () => {
    const piece = fc.constantFrom(
      'word',
      '*',
      '**',
      '`',
      '```',
      '\n',
      '\n\n',
      '- ',
      '1. ',
      '# ',
      '> ',
      '|',
      '---',
      '[',
      '](',
      ')',
      '  ',
      '_',
      '~~',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const html = render(pieces.join(''))
        const shown = html.split('word').length - 1
        // A word behind the mark of a code block names its language; one beyond the columns of a table has no place.
        const text = pieces.join('')
        if (/```|\|/.test(text)) return
        expect(shown).toBe(text.split('word').length - 1)
      }),
    )
  })

  test('WR30 planted texts of the greatest length are parsed in one pass', () => {
    for (const piece of ['*', '**a ', '`', '[', '[a](', '> ', '- ', '  - a\n', '```\n', '|-', '# ', '~~a', '\\', ' '])
      expect(parseMarkdown(piece.repeat(100_000 / piece.length)).length).toBeGreaterThanOrEqual(0)
  })
})
