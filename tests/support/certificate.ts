// A self-signed X.509 certificate around a key, as a realm publishes it. Just enough DER for that.
import { type KeyObject, sign } from "node:crypto"

const der = (tag: number, ...contents: ReadonlyArray<Uint8Array>): Buffer => {
  const body = Buffer.concat(contents)
  const size = body.length
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}

const sequence = (...contents: ReadonlyArray<Uint8Array>) => der(0x30, ...contents)
const integer = (value: number) => der(0x02, Buffer.from([value]))
const utcTime = (text: string) => der(0x17, Buffer.from(text))
const NULL = der(0x05)
/** 1.2.840.113549.1.1.11 and 2.5.4.3 */
const SHA256_WITH_RSA = sequence(der(0x06, Buffer.from("2a864886f70d01010b", "hex")), NULL)
const COMMON_NAME = der(0x06, Buffer.from("550403", "hex"))

/** @returns DER of a certificate for `CN=demo`, valid 2020..2049 */
export const certificateOf = ({ publicKey, privateKey }: { publicKey: KeyObject; privateKey: KeyObject }): Buffer => {
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from("demo")))))
  const validity = sequence(utcTime("200101000000Z"), utcTime("490101000000Z"))
  const toBeSigned = sequence(
    der(0xa0, integer(2)),
    integer(1),
    SHA256_WITH_RSA,
    name,
    validity,
    name,
    publicKey.export({ type: "spki", format: "der" }),
  )
  const signature = sign("sha256", toBeSigned, privateKey)
  return sequence(toBeSigned, SHA256_WITH_RSA, der(0x03, Buffer.from([0]), signature))
}

export const certificatePem = (certificate: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${certificate.toString("base64").replace(/.{64}/g, "$&\n").trimEnd()}\n-----END CERTIFICATE-----\n`
