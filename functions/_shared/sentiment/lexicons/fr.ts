import type { Source } from "../entries.ts";

export const fr: Source = {
  values: [
    [
      3,
      `ador* excellent* parfait* genial* genia* formidable* fantastique* extraordinaire* exceptionnel* merveill* magnifique* incroyable* impeccable* top trop_bien
      super_bien au_top le_meilleur la_meilleure un_vrai_plaisir un_plaisir un_regal regal conquis* bluff* rien_a_redire rien_a_dire nickel indispensable* coup_de_coeur
      chapeau au_dela_de_mes_attentes depasse_mes_attentes canon remarquable* je_kiffe kiffe* j_adore`,
    ],
    [
      2,
      `bon bonne bonnes bons bien mieux aime aimons aiment apprecie* plait plaisir plaisant* agreable* content* contente* heureu* satisf* ravi ravie ravis recommand* conseille* facile* facilement
      simple_a simplissime simplifi* intuiti* rapide* rapidement fluide* pratique* utile* fiable* stable* efficace* clair* claire* clarte propre* joli* beau belle elegant* ergonomique* reactif* reactive* reactivite
      gain_de_temps gagn*_du_temps gagn*_un_temps gagne_en merci mercis bravo felicitation* felicite* super chouette cool sympa* enfin_une enfin_un ameliorat* amelior* fonctionne_bien fonctionne_parfaitement
      marche_bien marche_tres_bien marche_parfaitement fonctionne_tres_bien fonctionne_comme_prevu comme_prevu comme_sur_des_roulettes vaut_le_coup vaut_le_prix pas_mal pas_mal_du_tout pas_decu pas_decue aucun_souci aucun_probleme aucun_bug
      sans_souci sans_probleme jamais_de_souci jamais_eu_de_souci jamais_eu_de_probleme jamais_eu_un_probleme jamais_decu resolu* resout aide aidee aidant serviable* disponible_et performant* puissant* complet complete convivial* qualite
      impressionn* enchant* sans_faute confiance rassur* je_ne_m_en_passe_plus m_en_passer plus_m_en_passer ne_peux_plus_m_en_passer du_premier_coup en_un_clic`,
    ],
    [
      1,
      `moderne* correctement abordable* honnete* interessant* prometteu* flexible* leger legere bienvenu* securis* lisible* epure*`,
    ],
    [
      0,
      `sans_plus correct correcte ca_va moyen moyenne rien_de_special rien_d_extraordinaire ni_bien_ni_mal comme_ci_comme_ca ca_depend depend_des_jours parfois_ca_marche mode_d_emploi bien_que bien_sur ou_bien
      j_aimerais nous_aimerions aimerais aimerait aimerions merci_d_avance merci_de bonjour bonne_journee bonne_soiree aussi_bien_que d_aide page_d_aide message_d_erreur fait_le_job fait_l_affaire sans_avis
      eh_bien combien neutre`,
    ],
    [
      -1,
      `cher chere chers cheres couteu* limite limitee limites complique* complexe* difficile* lourd* manque* manquent absen* incomplet* vieillot* vieilli* date attend* attente flou floue touffu* charge chargee brouillon dommage
      malheureusement helas laisse_a_desirer a_revoir peut_mieux_faire trop_de trop_long trop_longue trop_petit* perfectible* penible_parfois`,
    ],
    [
      -2,
      `mauvais* mal pire pires lent lente lents lentes lentement lenteur* ram* bug bugs bugge bugs bugue buggue* plant* plantage* erreur* probleme* souci soucis panne* casse cassee casses cassent fig* bloqu* inutile* inutilisable* incomprehensible*
      instable* dec* decev* deception* frustr* agac* enerv* penible* gonfl* saoul* galere* fastidieu* chiant* relou degrad* regress* perd* perte disparu* disparai* efface* ne_marche_pas marche_pas ne_marche_plus marche_plus ne_fonctionne_pas ne_fonctionne_plus fonctionne_pas fonctionne_plus
      ne_sert_a_rien sert_a_rien ne_repond_pas ne_repond repond_pas personne_ne_repond pas_de_reponse aucune_reponse sans_reponse sans_nouvelle* ne_s_ouvre_pas ne_charge_pas impossible* introuvable* on_s_y_perd s_y_perd m_y_perds perdu perdue
      trop_cher trop_chere trop_lent trop_lente trop_complique* rembours* facture_deux_fois preleve_deux_fois debite_deux_fois resili* desabonn* abandonn* plain* plainte* fait_perdre perte_de_temps illisible* moche* laid* confus* inadapte* incoherent* marre ras_le_bol se_ferme
      personne_ne_decroche n_arrive_pas n_arrive_jamais jamais_de_reponse insatisf* mecontent* desagreable* desabus* regrett* desordre bordel usine_a_gaz spam`,
    ],
    [
      -3,
      `deteste* horrible* nul nulle nuls nulles nullissime horreur catastroph* lamentable* honte honteu* scandal* arnaqu* vol inadmissible* inacceptable* affreu* execrable* merde* merdique* pourri* desastr* minable* epouvantable* cauchemar* a_fuir fuyez deplorable* c_est_n_importe_quoi n_importe_quoi`,
    ],
  ],
  negations: "pas jamais aucun aucune ni sans rien guere personne non moins nullement",
  stronger:
    "tres vraiment trop super hyper tellement si extremement totalement completement absolument beaucoup ultra mega toujours sans_cesse encore franchement carrement bien_trop bien_plus du_tout",
  weaker: "un_peu assez plutot legerement parfois relativement presque moyennement quelque_peu",
  contrasts: "mais cependant toutefois pourtant neanmoins par_contre en_revanche sauf dommage malheureusement",
  wishes: `serait-ce serait seraient pourrait pourriez pourrions pourrait-on s_il_vous_plait svp stp j_aimerais aimerais aimerions aimerait souhait* il_faudrait faudrait devrait devriez suggestion suggere* propose ajout* est_il_possible est_ce_possible
    peut_on comment_puis comment_faire besoin_de il_manque voudrais voudrions`,
  reach: { before: 3, behind: 2 },
};
