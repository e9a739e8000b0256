import type { BrandMessages } from "./en.ts";

export const fr: BrandMessages = {
  title: "Marque",
  text: "Couleur et logo des pages, de leurs courriels et des tableaux intégrés.",
  now: "Aspect actuel",
  logoOf: (name: string) => `Logo de ${name}`,
  noLogo: "Aucun logo",
  noColor: "La couleur par défaut",
  sample: "Un bouton",
  color: "Couleur",
  colorHint:
    "Par exemple #5b5bd6 ; vide pour celle par défaut. Là où le texte serait peu lisible, une teinte proche est utilisée.",
  logo: "Adresse du logo",
  logoHint:
    "Une image à une adresse https, carrée si possible ; vide pour aucune. Les navigateurs la chargent depuis cette adresse.",
  file: "Logo",
  fileHint:
    "Une image PNG, JPEG ou WebP de 512 Kio au plus, carrée si possible. Elle remplace la précédente.",
  upload: "Envoyer",
  fileMissing: "Choisissez une image.",
  fileType: "Ce n’est pas une image PNG, JPEG ou WebP.",
  tooLarge: "L’image dépasse 512 Kio, ou 2 048 pixels en largeur ou en hauteur : réduisez-la.",
  remove: "Retirer le logo",
  removeHint: "L’image envoyée est supprimée. Les courriels déjà partis ne l’affichent plus.",
  save: "Enregistrer",
  done: {
    saved: "La marque est enregistrée.",
    uploaded: "Le logo est en place.",
  },
};
