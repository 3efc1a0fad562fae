import { expect, test } from 'vitest'
import { redactSensitive } from './redact-sensitive.ts'

test.each([
  ['an e-mail address', 'ask ann.lee@contoso.com about it', 'ask [redacted: email] about it'],
  ['an address of an author', '"author": "Ann <ann+git@mail.lee.co.uk>"', '"author": "Ann <[redacted: email]>"'],
  ['an address in a link', '[mail](mailto:j.doe@firm.de)', '[mail](mailto:[redacted: email])'],
  ['a phone number', 'call +49 30 901820 today', 'call [redacted: phone] today'],
  ['a phone number with dashes', '+1 (415) 867-5309', '[redacted: phone]'],
  ['a local phone number', 'reach me at (212) 736-5000.', 'reach me at [redacted: phone].'],
  ['a phone number after its name', 'phone: 0171 2345678', 'phone: [redacted: phone]'],
  ['an IBAN', 'pay to DE89 3704 0044 0532 0130 00, please', 'pay to [redacted: iban], please'],
  ['an IBAN without spaces', 'iban=GB29NWBK60161331926819', 'iban=[redacted: iban]'],
  ['a card number', 'card 4539 1488 0343 6467', 'card [redacted: card-number]'],
  ['a card number without spaces', '{"card":"5500005555555559"}', '{"card":"[redacted: card-number]"}'],
  ['a social security number', 'SSN 536-90-4399', 'SSN [redacted: national-id]'],
  ['a CPF', 'CPF 529.982.247-25', 'CPF [redacted: national-id]'],
  ['an AHV number', '756.9217.0769.85', '[redacted: national-id]'],
  ['a codice fiscale', 'RSSMRA85T10A562S', '[redacted: national-id]'],
  ['an Aadhaar number', '2341 2341 2346', '[redacted: national-id]'],
  ['a number of the French social security', '2 55 08 14 168 025 38', '[redacted: national-id]'],
])('RD11 %s is redacted', (_kind, text, expected) => {
  expect(redactSensitive(text)).toBe(expected)
})

test.each([
  'git@github.com:owner/repo.git',
  'ssh://ann@host.contoso.com/repo',
  'npm i @types/node@24.19.2 zod@4.6.7',
  'import x from "@scope/package@1.2.3"',
  '@Component({ selector: "a" })',
  'user@example.com, a@b.test, root@localhost, you@domain.com',
  'security@contoso.com',
  'logo@2x.png',
  'https://medium.com/@ann.lee/post',
  'const id = 4539148803436467',
  '4111 1111 1111 1111',
  '+1 (212) 555-0143',
  'version 1.2.3.4-5 of 2026-11-16 08:15:30',
  '2026-11-16T08:15:30.123Z',
  'a + 1 - 2 + 3456 - 7890',
  'rgb(255, 128, 64) 0x1234567890abcdef',
  '192.168.100.200:8080',
  'f(1) + 12 3456 7890',
  'uuid 7c9e6679-7425-40de-944b-e07fc1f90ae7',
  'lines 100-200-3000',
  'DE00 0000 0000 0000 0000 00',
  '1.2.840.113549.1.1.11',
  'order 000-12-3456 and 123-45-6789',
  'isbn 978-3-16-148410-0',
  'CREATE TABLE ABCDEF12',
  'PRIMES = [1000 0000 2000, 3000 4000]',
])('RD12 %s has no personal data', (text) => {
  expect(redactSensitive(text)).toBe(text)
})

test('RD7 when secrets and personal data are redacted again, nothing changes', () => {
  const text = 'password=hunter22 of ann.lee@contoso.com, +49 30 901820, postgres://ann:hunter2@db.contoso.com/x'
  const once = redactSensitive(text)
  expect(once).not.toMatch(/hunter|contoso\.com,|901820/)
  expect(redactSensitive(once)).toBe(once)
})

test('RD11 known values are redacted, too', () => {
  expect(redactSensitive('the value is plainvalue9', ['plainvalue9'])).toBe('the value is [redacted: environment]')
})
