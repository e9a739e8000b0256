import { encode } from "uqr";

/** Modules around a QR code that readers need. */
const border = 4;

/** A QR code as SVG: dark on white in every theme, since readers need it so. */
export const QrCode = ({ text, label, id }: { text: string; label: string; id?: string }) => {
  const { data, size } = encode(text, { ecc: "M", border });
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  return (
    <svg
      xmlns="http://www.w3.org/2000/svg"
      id={id}
      class="qr-code"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={label}
      shape-rendering="crispEdges"
    >
      <rect width={size} height={size} fill="#ffffff" />
      <path d={path.join("")} fill="#000000" />
    </svg>
  );
};
